#include "station.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace conic {

namespace {

constexpr unsigned kResetEdges = 4;

}  // namespace

Station::Station(std::string name, uint32_t number, std::unique_ptr<Model> model)
    : registers(model->registers), number_(number), model_(std::move(model)), name_(std::move(name)),
      boundary_(model_->outputs) {
    for (const LinkPins& pins : model_->links) links_.emplace_back(pins, model_->flit_bytes);
}

// Says who has broken the rule, and when.
template <class Body>
void Station::blamed(uint64_t now, Body body) {
    try {
        body();
    } catch (const Fault& fault) {
        throw Fault(name_ + " " + fault.what(), now);
    }
}

void Station::reset() {
    random_ = std::any_of(links_.begin(), links_.end(), [](const LinkEnd& link) { return link.is_random(); });
    *model_->reset = 1;
    drive(0);
    model_->latch();
    for (unsigned edge = 1; edge < kResetEdges; ++edge) model_->clock();
    *model_->reset = 0;
    event_ = true;  // reset is one
}

// Drives the inputs of a cycle. Returns whether one of them is an event: something that a quiescent model may wake up from.
bool Station::drive(uint64_t now) {
    bool event = registers.drive();
    event |= drive_host();
    for (LinkEnd& link : links_) event |= link.drive(now);
    return event;
}

void Station::evaluate() {
    if (skipped_ && model_->skipped) *model_->skipped = static_cast<uint32_t>(skipped_);
    model_->step();
    if (skipped_ && model_->skipped) *model_->skipped = 0;
    skipped_ = 0;
    ++evaluated_;
}

void Station::catch_up() {
    if (!skipped_) return;
    --skipped_;  // the evaluation itself is one of them
    evaluate();
}

void Station::change_step(Parity parity) {
    catch_up();
    collect(parity);
    asleep_ = false;
    event_ = true;
}

void Station::transmit(uint64_t now, Parity parity) {
    for (LinkEnd& link : links_)
        link.transmit(now, parity, [&](const Flit& flit) { log_sent(flit, now, open_log()); });
}

// What stands beside the model takes its step, with the outputs and the inputs of the cycle.
void Station::step_beside(uint64_t now) {
    if (model_->failed()) throw Fault("has failed an assertion of the RTL; the lines above say which");
    for (size_t port = 0; port < links_.size(); ++port) {
        const bool was_ready = links_[port].receive([&](const void* data, bool last, uint8_t vc) {
            log_received(data, last, vc, now, open_log());
        });
        if (!was_ready)
            throw Fault((links_.size() > 1 ? "port " + std::to_string(port) + " " : "") +
                        "lowered the ready of a link: its credits promise room");
    }
    if (!registers.idle()) {
        registers.step(now, number_, open_log());
        if (registers.idle()) settled_at_ = now + 1;
    }
    step_host(now, open_log());
}

bool Station::drives_something() const {
    for (const LinkPins& link : model_->links)
        if (*link.tx_valid || *link.rx_credit_valid) return true;
    return drives_host();
}

// From cycle `now` on, until something comes, cycles change nothing.
void Station::fall_asleep(uint64_t now) {
    asleep_ = false;
    if (random_ || !host_is_idle()) return;
    wake_at_ = registers.next_access();
    for (const LinkEnd& link : links_) wake_at_ = std::min(wake_at_, link.next_arrival());
    asleep_ = wake_at_ > now;
}

uint64_t Station::output(const std::string& name) const {
    for (const OutputPin& output : model_->outputs)
        if (name == output.name) {
            uint64_t value = 0;
            std::memcpy(&value, output.at, std::min<size_t>(output.bytes, sizeof(value)));
            return value;
        }
    throw Fault(name_ + " has no output " + name);
}

// A cycle of a model that has stopped.
void Station::stand_still() {
    for (LinkEnd& link : links_) link.lose();
    registers.drop();
}

void Station::cycle(uint64_t now, Parity parity, bool skip) {
    if (stopped(now)) return stand_still();
    const bool event = drive(now);
    const bool still = skip && *model_->quiescent && !event_ && !event;
    event_ = event;
    if (still) {
        if (drives_something()) throw Fault("says that it is quiescent, but drives something");
        ++skipped_;
    } else {
        evaluate();
    }
    transmit(now, parity);
    step_beside(now);
    if (still) fall_asleep(now + 1);
}

void Station::advance(uint64_t from, uint64_t until, Parity parity, bool skip) {
    collect(parity ^ 1);
    if (asleep_) fall_asleep(from);  // what has come may wake it earlier
    for (uint64_t now = from; now < until;) {
        if (asleep_) {
            const uint64_t to = std::min(wake_at_, until);
            skipped_ += to - now;
            now = to;
            asleep_ = now < wake_at_;
        } else {
            blamed(now, [&] { cycle(now, parity, skip); });
            ++now;
        }
    }
}

void Station::clock(uint64_t now, Parity parity) {
    if (stopped(now)) return;
    model_->clock();
    ++evaluated_;
    transmit(now, parity);
}

void Station::collect(Parity parity) {
    for (LinkEnd& link : links_) link.collect(parity);
}

void Station::latch(uint64_t now, bool check_boundary) {
    if (stopped(now)) return stand_still();
    if (check_boundary) boundary_.sample();
    drive(now);
    model_->latch();
    blamed(now, [&] {
        if (check_boundary) boundary_.check();
        step_beside(now);
    });
}

}  // namespace conic
