// What stands beside a model, with its own part of time: a NIC's host and its link, or the links of a switch.
//
// Stations meet in mailboxes only. What one sends arrives `latency` cycles later at the earliest, so for that many cycles
// each can go ahead by itself, with those whose models are in the same word (word.h), and nothing that the others do in the
// meantime can matter to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
    Station(std::string name, uint32_t number, Model& model);
    virtual ~Station() = default;

    const std::string& name() const { return name_; }
    Model& model() { return model_; }
    LinkEnd& link(unsigned port) { return links_.at(port); }

    // Holds reset, or lets it go.
    void reset(bool level);

    // Begins a window of cycles: what is sent in it is posted under `parity`, and what others have posted under the other
    // one is collected.
    void begin_window(uint64_t now, Parity parity);
    uint64_t now() const { return now_; }
    void set_now(uint64_t now) { now_ = now; }
    void pass(uint64_t cycles) { now_ += cycles; }
    // Notes the first fault that is found here; from then on nothing happens here any more.
    template <class Body>
    void guarded(Body body) {
        try {
            body();
        } catch (const Fault& fault) {
            fault_ = Fault(name_ + " " + fault.what(), now_);
        } catch (const std::exception& error) {
            fault_ = Fault(error.what(), now_);  // no memory, for one: nothing may leave a thread
        }
    }
    const std::optional<Fault>& fault() const { return fault_; }

    // The parts of a cycle, in this order, with the model's edge between the first and the second; those that may find a
    // fault throw Fault.
    void drive(uint64_t now);
    void transmit(uint64_t now) { transmit(now, parity_); }
    void transmit(uint64_t now, Parity parity);
    void step_beside(uint64_t now);
    // Takes over what others have posted under `parity`.
    void collect(Parity parity);
    // A cycle of a model that has stopped.
    void stand_still();

    // Whether the cycle that was driven changes nothing: neither the model, nor what stands beside it.
    bool still() const { return model_.still() && !drives_something(); }

    // From cycle `now` on, until something comes, cycles change nothing.
    void fall_asleep(uint64_t now);
    bool was_still = false;  // in the cycle that is being carried out
    void wake() { asleep_ = false; }
    bool asleep(uint64_t now) const { return fault_ || (asleep_ && now < wake_at_); }
    // The cycle from which on something happens here by itself; UINT64_MAX: not before something comes.
    uint64_t next_event() const { return fault_ ? UINT64_MAX : asleep_ ? wake_at_ : 0; }
    // What it knew of its sleep is void.
    void forget_sleep() { asleep_ = false; }

    // From cycle `at` on the model does nothing any more, and nothing that is sent to it arrives anywhere.
    void stop(uint64_t at) { stop_at_ = at; }
    bool stopped(uint64_t now) const { return now >= stop_at_; }
    // A hash of the model, or of what it was when it stopped: its lane goes on.
    uint64_t fingerprint() { return stopped_as_ ? *stopped_as_ : model_.fingerprint(); }
    bool is_frozen() const { return stopped_as_.has_value(); }
    void freeze() { stopped_as_ = model_.fingerprint(); }
    // An output by its name. Throws Fault if there is none.
    uint64_t output(const std::string& name) const;

    // A hash of some bits of some registers, those that were selected so far: the same for all engines.
    void select(const std::string& name, std::vector<uint64_t> mask) {
        selected_.push_back({model_.find_register(name), std::move(mask)});
    }
    uint64_t selected_hash() const;

    // Whether everything has happened that a run waits for, and the cycle after the last of it.
    virtual bool settled() const { return registers.idle(); }
    uint64_t settled_at() const { return settled_at_; }
    uint64_t damaged(WireFault kind) const {
        uint64_t sum = 0;
        for (const LinkEnd& link : links_) sum += link.wire.count(kind);
        return sum;
    }
    // Cycles in which its model was evaluated.
    uint64_t evaluated = 0;
    size_t n_links() const { return links_.size(); }
    void log_events(bool on) { logging_ = on; }

    RegisterPort registers;
    EventLog log;
    Boundary boundary;

protected:
    virtual void step_host(uint64_t, EventLog*) {}
    virtual void drive_host() {}
    virtual bool host_is_idle() const { return true; }
    virtual void log_sent(const Flit&, uint64_t, EventLog*) {}
    virtual void log_received(const void*, bool, uint8_t, uint64_t, EventLog*) {}
    // Whether the model asks for something, or offers something, at ports other than links.
    virtual bool drives_host() const { return false; }

    uint32_t number_;
    Model& model_;
    uint64_t settled_at_ = 0;

private:
    bool drives_something() const;
    EventLog* open_log() { return logging_ ? &log : nullptr; }

    std::string name_;
    std::vector<LinkEnd> links_;
    bool logging_ = false;
    bool random_ = false;     // a link draws random numbers in every cycle
    bool asleep_ = false;
    uint64_t wake_at_ = 0;
    uint64_t stop_at_ = UINT64_MAX;
    uint64_t now_ = 0;
    Parity parity_ = 0;
    std::optional<Fault> fault_;
    std::optional<uint64_t> stopped_as_;
    std::vector<std::pair<Register, std::vector<uint64_t>>> selected_;
};

}  // namespace conic
