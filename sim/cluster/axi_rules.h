// Watches a NIC's AXI4 manager port for what the protocol forbids. A memory that did not care would hide it until the first
// board.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "fault.h"
#include "mailbox.h"
#include "model.h"

namespace conic {

class AxiRules {
public:
    AxiRules(const AxiPins& pins, unsigned flit_bytes) : pins_(pins), flit_bytes_(flit_bytes) {}

    // One cycle, with the memory's outputs of that cycle applied. Throws Fault.
    void check() {
        if (write_.waiting || *pins_.awvalid) {
            const Address write{*pins_.awaddr, *pins_.awlen, *pins_.awsize, *pins_.awburst};
            write_.check("m_axi_aw", *pins_.awvalid, *pins_.awready, write);
            if (*pins_.awvalid && *pins_.awready) {
                burst("m_axi_aw", write);
                lengths_.push_back(write.len);
            }
        }
        if (read_.waiting || *pins_.arvalid) {
            const Address read{*pins_.araddr, *pins_.arlen, *pins_.arsize, *pins_.arburst};
            read_.check("m_axi_ar", *pins_.arvalid, *pins_.arready, read);
            if (*pins_.arvalid && *pins_.arready) burst("m_axi_ar", read);
        }
        if (beat_.waiting || *pins_.wvalid) {
            Beat beat;
            std::memcpy(beat.data, pins_.wdata, flit_bytes_);
            beat.strobes = pins_.wstrb.get();
            beat.last = *pins_.wlast;
            beat_.check("m_axi_w", *pins_.wvalid, *pins_.wready, beat);
            if (*pins_.wvalid && *pins_.wready) ends_.push_back(beat.last);
        }
        match();
    }

    // No offer waits: the rules have nothing to remember of this cycle.
    bool idle() const { return !write_.waiting && !read_.waiting && !beat_.waiting; }

private:
    struct Address {
        uint64_t addr = 0;
        uint32_t len = 0, size = 0, burst = 0;
        bool operator==(const Address& other) const {
            return addr == other.addr && len == other.len && size == other.size && burst == other.burst;
        }
    };
    struct Beat {
        uint8_t data[kMostFlitBytes] = {};
        uint64_t strobes = 0;
        bool last = false;
        bool operator==(const Beat& other) const {
            return std::memcmp(data, other.data, kMostFlitBytes) == 0 && strobes == other.strobes && last == other.last;
        }
    };

    // An offer stays, unchanged, until it is taken.
    template <class Payload>
    struct Offer {
        bool waiting = false;
        Payload payload;

        void check(const char* channel, bool valid, bool ready, const Payload& now) {
            if (waiting && !(valid && now == payload))
                throw Fault(std::string(channel) + (valid ? " changed its payload" : " lowered valid") +
                            " while it waited for ready");
            waiting = valid && !ready;
            payload = now;
        }
    };

    void burst(const std::string& channel, const Address& address) const {
        constexpr uint64_t kPage = 4096;
        const uint64_t last = address.addr + uint64_t{address.len + 1} * flit_bytes_ - 1;
        if (address.burst != 1) throw Fault(channel + " must ask for incrementing bursts");
        if (1u << address.size != flit_bytes_) throw Fault(channel + " must ask for beats of the bus's width");
        if (address.addr % flit_bytes_) throw Fault(channel + " must ask for an aligned address");
        if (address.addr / kPage != last / kPage) throw Fault(channel + " must not cross a 4 KiB boundary in a burst");
    }

    // Beats may come before their address: both are matched as soon as both are there.
    void match() {
        while (!lengths_.empty() && !ends_.empty()) {
            const bool is_last = beats_ == lengths_.front();
            if (bool(ends_.front()) != is_last) throw Fault("m_axi_w must mark the last beat of a burst, and no other");
            ends_.pop_front();
            ++beats_;
            if (!is_last) continue;
            lengths_.pop_front();
            beats_ = 0;
        }
    }

    AxiPins pins_;
    unsigned flit_bytes_;
    Offer<Address> write_, read_;
    Offer<Beat> beat_;
    Ring<uint32_t> lengths_;
    Ring<uint8_t> ends_;
    uint32_t beats_ = 0;
};

}  // namespace conic
