// One direction of a link: flits forward, credits back, each with a latency of whole cycles.
//
// With latency 0 and no stalls a flit is at the receiver's input in the cycle in which the sender drives it: the link is a
// wire. Order is kept; random delays only stretch time.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>

#include "event.h"
#include "random_stall.h"
#include "shape.h"

namespace conic {

struct Flit {
    uint8_t data[kFlitBytes];
    bool last;
    uint8_t vc;
};

struct LinkTiming {
    uint64_t latency = 0;  // cycles each way
    uint64_t jitter = 0;   // most cycles that a packet may be held up in addition
    double stall = 0;      // intensity of random stalls
};

class Link {
public:
    Link(const LinkTiming& timing, uint64_t seed) : timing_(timing), stall_(seed, timing.stall) {}

    // The sender's inputs in this cycle.
    bool ready() const { return ready_; }
    bool credit_valid = false;
    uint8_t credit_vc = 0;
    // The receiver's inputs in this cycle.
    bool valid = false;
    Flit flit{};

    // Takes what the sender drives in this cycle.
    void push(const Flit& flit, uint64_t now) {
        uint64_t at = now + timing_.latency;
        if (new_packet_) at += stall_.delay(timing_.jitter);
        new_packet_ = flit.last;
        if (at < flits_at_) at = flits_at_;
        flits_at_ = at;
        flits_.push_back({at, flit});
    }
    void push_credit(uint8_t vc, uint64_t now) { credits_.push_back({now + timing_.latency, vc}); }

    // Decides what arrives at the receiver in this cycle; the receiver is always ready.
    void deliver(uint64_t now) {
        valid = !flits_.empty() && flits_.front().first <= now;
        if (!valid) return;
        flit = flits_.front().second;
        flits_.pop_front();
    }
    void deliver_credit(uint64_t now) {
        credit_valid = !credits_.empty() && credits_.front().first <= now;
        if (!credit_valid) return;
        credit_vc = credits_.front().second;
        credits_.pop_front();
    }
    void next_cycle() { ready_ = !stall_.pause(); }

private:
    LinkTiming timing_;
    RandomStall stall_;
    std::deque<std::pair<uint64_t, Flit>> flits_;
    std::deque<std::pair<uint64_t, uint8_t>> credits_;
    uint64_t flits_at_ = 0;
    bool new_packet_ = true;
    bool ready_ = true;
};

// Collects the headers of packets that pass by and logs them.
class PacketWatch {
public:
    PacketWatch(EventKind first, EventKind last) : first_(first), last_(last) {}

    void see(const Flit& flit, uint64_t now, uint32_t node, EventLog* log) {
        Channel& channel = channels_[flit.vc & 1];
        if (channel.bytes < kHeaderBytes) {
            const unsigned room = kHeaderBytes - channel.bytes;
            const unsigned take = room < kFlitBytes ? room : kFlitBytes;
            std::memcpy(channel.header + channel.bytes, flit.data, take);
            if (channel.bytes == 0) channel.began = now;
            channel.bytes += take;
            if (channel.bytes == kHeaderBytes) note(first_, channel, channel.began, node, log);
        }
        if (flit.last) {
            note(last_, channel, now, node, log);
            channel.bytes = 0;
        }
    }

private:
    struct Channel {
        uint8_t header[kHeaderBytes];
        unsigned bytes = 0;
        uint64_t began = 0;
    };

    static void note(EventKind kind, const Channel& channel, uint64_t cycle, uint32_t node, EventLog* log) {
        if (!log) return;
        Event event{cycle, node, kind, {}};
        std::memcpy(event.data, channel.header, kHeaderBytes);
        log->push_back(event);
    }

    EventKind first_, last_;
    Channel channels_[2];
};

}  // namespace conic
