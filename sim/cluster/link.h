// Links: flits forward, credits back, each with a latency of whole cycles.
//
// With latency 0 and no stalls a flit is at the receiver's input in the cycle in which the sender drives it: the link is a
// wire. Order is kept; random delays only stretch time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "event.h"
#include "fault.h"
#include "faulty_wire.h"
#include "flit.h"
#include "mailbox.h"
#include "model.h"
#include "random_stall.h"

namespace conic {

struct LinkTiming {
    uint64_t latency = 0;  // cycles each way
    uint64_t jitter = 0;   // most cycles that a packet may be held up in addition
    double stall = 0;      // intensity of random stalls
    double errors = 0;     // share of the words of reliable links that are damaged
};

// One direction of a cable.
struct Lane {
    Mailbox<Flit> flits;
    Mailbox<Credit> credits;

    bool empty() const { return flits.empty() && credits.empty(); }
};

// Collects the headers of packets that pass by and logs them.
class PacketWatch {
public:
    PacketWatch(EventKind first, EventKind last) : first_(first), last_(last) {}

    void see(const void* data, unsigned bytes, bool last, uint8_t vc, uint64_t now, uint32_t node, EventLog* log) {
        Channel& channel = channels_[vc & 1];
        if (channel.bytes < kHeaderBytes) {
            const unsigned take = std::min(kHeaderBytes - channel.bytes, bytes);
            std::memcpy(channel.header + channel.bytes, data, take);
            if (channel.bytes == 0) channel.began = now;
            channel.bytes += take;
            if (channel.bytes == kHeaderBytes) note(first_, channel, channel.began, node, log);
        }
        if (last) {
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

// One end of a cable, beside the model whose port it is: sends on one lane, receives from the other.
class LinkEnd {
public:
    LinkEnd(const LinkPins& pins, unsigned flit_bytes) : pins_(pins), flit_bytes_(flit_bytes) {
        *pins_.tx_ready = 1;  // a port without a cable: nothing comes in, whatever goes out is taken
        *pins_.tx_credit_valid = *pins_.tx_credit_vc = 0;
        *pins_.rx_valid = *pins_.rx_last = *pins_.rx_vc = 0;
        std::memset(pins_.rx_data, 0, flit_bytes_);
    }

    void connect(Lane& out, Lane& in, const LinkTiming& timing, uint64_t seed) {
        out_ = &out;
        in_ = &in;
        timing_ = timing;
        stall_ = RandomStall(seed, pins_.words ? 0 : timing.stall);
        wire.seed(seed ^ 0x5deece66d);
        WireRates rates;
        rates.mixed = timing.errors;
        wire.set(rates);
    }

    // Takes what the model drives in cycle `now` and posts it under `parity`.
    template <class Sent>
    void transmit(uint64_t now, Parity parity, Sent sent) {
        if (!out_) return;
        if (*pins_.tx_valid && ready_) {
            uint64_t at = now + timing_.latency;
            if (new_packet_) at += stall_.delay(timing_.jitter);
            new_packet_ = *pins_.tx_last;
            flits_at_ = at = std::max(at, flits_at_);
            Flit flit;
            flit.at = at;
            flit.last = *pins_.tx_last;
            flit.vc = *pins_.tx_vc;
            std::memcpy(flit.data, pins_.tx_data, flit_bytes_);
            if (pins_.words) {
                wire.carry(now, flit, flit_bytes_, [&](Flit word, uint64_t later) {
                    word.at = flits_at_ = std::max(at + later, flits_at_);
                    out_->flits.post(parity, word);
                });
            } else {
                out_->flits.post(parity, flit);
                sent(flit);
            }
        }
        if (*pins_.rx_credit_valid) in_->credits.post(parity, {now + timing_.latency, *pins_.rx_credit_vc});
    }

    // Ends a cycle whose inputs are driven: looks at what the model receives. Returns false if it was not ready for that.
    template <class Received>
    bool receive(Received received) {
        if (!out_) return true;
        ready_ = !stall_.pause();
        if (!*pins_.rx_valid || pins_.words) return true;
        received(pins_.rx_data, *pins_.rx_last, *pins_.rx_vc);
        return *pins_.rx_ready;
    }

    // Takes over what the other end has posted under `parity`.
    void collect(Parity parity) {
        if (!out_) return;
        in_->flits.collect(parity, flits_);
        out_->credits.collect(parity, credits_);
    }

    // Drives the inputs of cycle `now`.
    void drive(uint64_t now) {
        if (!out_) return;
        *pins_.tx_ready = ready_;
        const bool flit = !flits_.empty() && flits_.front().at <= now;
        const bool credit = !credits_.empty() && credits_.front().at <= now;
        *pins_.rx_valid = flit;
        *pins_.tx_credit_valid = credit;
        if (flit) {
            const Flit& front = flits_.front();
            std::memcpy(pins_.rx_data, front.data, flit_bytes_);
            *pins_.rx_last = front.last;
            *pins_.rx_vc = front.vc;
            flits_.pop_front();
        }
        if (credit) {
            *pins_.tx_credit_vc = credits_.front().vc;
            credits_.pop_front();
        }
    }

    // Forgets what is on its way here.
    void lose() {
        while (!flits_.empty()) flits_.pop_front();
        while (!credits_.empty()) credits_.pop_front();
    }

    // When the next thing arrives.
    uint64_t next_arrival() const {
        uint64_t at = UINT64_MAX;
        if (!flits_.empty()) at = flits_.front().at;
        if (!credits_.empty()) at = std::min(at, credits_.front().at);
        return at;
    }
    // Whether something random happens here in every cycle.
    bool is_random() const { return timing_.stall > 0; }

    // Of a reliable link: what becomes of the words on their way from here.
    FaultyWire wire;

private:
    LinkPins pins_;
    unsigned flit_bytes_;
    Lane *out_ = nullptr, *in_ = nullptr;
    LinkTiming timing_;
    RandomStall stall_{0, 0};
    Ring<Flit> flits_;
    Ring<Credit> credits_;
    uint64_t flits_at_ = 0;
    bool new_packet_ = true;
    bool ready_ = true;
};

}  // namespace conic
