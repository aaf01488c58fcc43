// A model with all that stands beside it, and its own time: a NIC with its host, or a switch.
//
// Stations meet in mailboxes only. What one sends arrives `latency` cycles later at the earliest, so for that many cycles
// each can go ahead by itself, on any thread, and nothing that the others do in the meantime can matter to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "boundary.h"
#include "event.h"
#include "fault.h"
#include "link.h"
#include "model.h"
#include "register_port.h"

namespace conic {

class Station {
public:
    Station(std::string name, uint32_t number, std::unique_ptr<Model> model);
    virtual ~Station() = default;

    Model& model() { return *model_; }
    LinkEnd& link(unsigned port) { return links_.at(port); }

    // Holds reset; the clock edge that begins cycle 0 is the last one in reset.
    void reset();

    // Carries out the cycles from `from` up to, without, `until`: posts under `parity`, having collected what was posted
    // under the other one. With `skip`, cycles in which nothing can change are not evaluated. Throws Fault.
    void advance(uint64_t from, uint64_t until, Parity parity, bool skip);

    // One cycle in parts, for stations in lockstep, where what is sent in a cycle may arrive in it: everybody does the first
    // part, then everybody the second, and so on. They throw Fault.
    void clock(uint64_t now, Parity parity);
    void collect(Parity parity);
    void latch(uint64_t now, bool check_boundary);

    // The cycle from which on something happens here by itself; UINT64_MAX: not before something comes.
    uint64_t next_event() const { return asleep_ ? wake_at_ : 0; }
    // The host has changed something.
    void disturb() { asleep_ = false; }
    // From cycle `at` on the model does nothing any more, and nothing that is sent to it arrives anywhere.
    void stop(uint64_t at) { stop_at_ = at; }
    bool stopped(uint64_t now) const { return now >= stop_at_; }
    // An output by its name. Throws Fault if there is none.
    uint64_t output(const std::string& name) const;
    // Evaluates what has been skipped, so that the model can be looked at.
    void catch_up();
    // From the next cycle on it keeps step with the others, or goes ahead again: what it knew of its sleep is void.
    void change_step(Parity parity);

    // Whether everything has happened that a run waits for, and the cycle after the last of it.
    virtual bool settled() const { return registers.idle(); }
    uint64_t settled_at() const { return settled_at_; }
    uint64_t damaged(WireFault kind) const {
        uint64_t sum = 0;
        for (const LinkEnd& link : links_) sum += link.wire.count(kind);
        return sum;
    }
    size_t n_links() const { return links_.size(); }

    uint64_t evaluated() const { return evaluated_; }
    void log_events(bool on) { logging_ = on; }

    RegisterPort registers;
    EventLog log;

protected:
    virtual void step_host(uint64_t, EventLog*) {}
    virtual bool drive_host() { return false; }
    virtual bool host_is_idle() const { return true; }
    virtual void log_sent(const Flit&, uint64_t, EventLog*) {}
    virtual void log_received(const void*, bool, uint8_t, uint64_t, EventLog*) {}
    // Whether the model asks for something, or offers something, at ports other than links.
    virtual bool drives_host() const { return false; }

    uint32_t number_;
    std::unique_ptr<Model> model_;
    uint64_t settled_at_ = 0;

private:
    void cycle(uint64_t now, Parity parity, bool skip);
    bool drive(uint64_t now);
    void evaluate();
    void transmit(uint64_t now, Parity parity);
    void step_beside(uint64_t now);
    void fall_asleep(uint64_t now);
    void stand_still();
    bool drives_something() const;
    EventLog* open_log() { return logging_ ? &log : nullptr; }

    template <class Body>
    void blamed(uint64_t now, Body body);

    std::string name_;
    std::vector<LinkEnd> links_;
    Boundary boundary_;
    bool logging_ = false;
    bool random_ = false;     // a link draws random numbers in every cycle
    bool event_ = false;      // the inputs of the cycle before held an event
    bool asleep_ = false;
    uint64_t wake_at_ = 0;
    uint64_t stop_at_ = UINT64_MAX;
    uint64_t skipped_ = 0;    // cycles that the model is behind
    uint64_t evaluated_ = 0;  // cycles in which the model was evaluated
};

}  // namespace conic
