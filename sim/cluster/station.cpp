#include "station.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace conic {

Station::Station(std::string name, uint32_t number, Model& model)
    : registers(model.registers), boundary(model.outputs), number_(number), model_(model), name_(std::move(name)) {
    for (const LinkPins& pins : model_.links) links_.emplace_back(pins, model_.flit_bytes);
}

void Station::reset(bool level) {
    random_ = std::any_of(links_.begin(), links_.end(), [](const LinkEnd& link) { return link.is_random(); });
    *model_.reset = level;
    drive(0);
}

void Station::begin_window(uint64_t now, Parity parity) {
    now_ = now;
    parity_ = parity;
    collect(parity ^ 1);
    if (asleep(now) && !fault_) fall_asleep(now);  // what has come may wake it earlier
}

void Station::drive(uint64_t now) {
    registers.drive();
    drive_host();
    for (LinkEnd& link : links_) link.drive(now);
}

void Station::transmit(uint64_t now, Parity parity) {
    for (LinkEnd& link : links_)
        link.transmit(now, parity, [&](const Flit& flit) { log_sent(flit, now, open_log()); });
}

// What stands beside the model takes its step, with the outputs and the inputs of the cycle.
void Station::step_beside(uint64_t now) {
    if (const char* text = model_.failed()) throw Fault("has failed an assertion of the RTL: " + std::string(text));
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
    for (const LinkPins& link : model_.links)
        if (*link.tx_valid || *link.rx_credit_valid) return true;
    return drives_host();
}

void Station::fall_asleep(uint64_t now) {
    asleep_ = false;
    if (random_ || !host_is_idle()) return;
    wake_at_ = registers.next_access();
    for (const LinkEnd& link : links_) wake_at_ = std::min(wake_at_, link.next_arrival());
    asleep_ = wake_at_ > now;
}

uint64_t Station::output(const std::string& name) const {
    for (const OutputPin& output : model_.outputs)
        if (name == output.name) {
            uint64_t value = 0;
            std::memcpy(&value, output.at, std::min<size_t>(output.bytes, sizeof(value)));
            return value;
        }
    throw Fault(name_ + " has no output " + name);
}

uint64_t Station::selected_hash() const {
    uint64_t hash = 1;
    std::vector<uint64_t> words;
    for (const auto& [found, mask] : selected_) {
        words.assign(std::max(found.n_words, mask.size()), 0);
        found.get(words.data());
        for (size_t n = 0; n < mask.size(); ++n) {
            hash = (hash ^ (words[n] & mask[n])) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        }
    }
    return hash;
}

void Station::stand_still() {
    for (LinkEnd& link : links_) link.lose();
    registers.drop();
}

void Station::collect(Parity parity) {
    for (LinkEnd& link : links_) link.collect(parity);
}

}  // namespace conic
