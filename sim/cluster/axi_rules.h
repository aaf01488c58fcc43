// Watches a NIC's AXI4 manager port for what the protocol forbids. A memory that did not care would hide it until the first
// board.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "fault.h"
#include "shape.h"

namespace conic {

template <class Top>
class AxiRules {
public:
    explicit AxiRules(std::string name) : name_(std::move(name)) {}

    // One cycle, with the memory's outputs of that cycle applied.
    void check(const Top& top) {
        Beat beat;
        std::memcpy(beat.data, &top.m_axi_wdata, kFlitBytes);
        std::memcpy(&beat.strobes, &top.m_axi_wstrb, sizeof(top.m_axi_wstrb));
        beat.last = top.m_axi_wlast;
        const Address write{top.m_axi_awaddr, top.m_axi_awlen, top.m_axi_awsize, top.m_axi_awburst};
        const Address read{top.m_axi_araddr, top.m_axi_arlen, top.m_axi_arsize, top.m_axi_arburst};

        write_.check(name_ + " m_axi_aw", top.m_axi_awvalid, top.m_axi_awready, write);
        read_.check(name_ + " m_axi_ar", top.m_axi_arvalid, top.m_axi_arready, read);
        beat_.check(name_ + " m_axi_w", top.m_axi_wvalid, top.m_axi_wready, beat);
        if (top.m_axi_awvalid && top.m_axi_awready) {
            burst(name_ + " m_axi_aw", write);
            lengths_.push_back(write.len);
        }
        if (top.m_axi_arvalid && top.m_axi_arready) burst(name_ + " m_axi_ar", read);
        if (top.m_axi_wvalid && top.m_axi_wready) ends_.push_back(beat.last);
        match();
    }

private:
    struct Address {
        uint64_t addr = 0;
        uint32_t len = 0, size = 0, burst = 0;
        bool operator==(const Address& other) const {
            return addr == other.addr && len == other.len && size == other.size && burst == other.burst;
        }
    };
    struct Beat {
        uint8_t data[kFlitBytes] = {};
        uint64_t strobes = 0;
        bool last = false;
        bool operator==(const Beat& other) const {
            return std::memcmp(data, other.data, kFlitBytes) == 0 && strobes == other.strobes && last == other.last;
        }
    };

    // An offer stays, unchanged, until it is taken.
    template <class Payload>
    struct Offer {
        bool waiting = false;
        Payload payload;

        void check(const std::string& channel, bool valid, bool ready, const Payload& now) {
            if (waiting && !(valid && now == payload))
                throw Fault(channel + (valid ? " changed its payload" : " lowered valid") + " while it waited for ready");
            waiting = valid && !ready;
            payload = now;
        }
    };

    void burst(const std::string& channel, const Address& address) const {
        constexpr uint64_t kPage = 4096;
        const uint64_t last = address.addr + uint64_t{address.len + 1} * kFlitBytes - 1;
        if (address.burst != 1) throw Fault(channel + " must ask for incrementing bursts");
        if (1u << address.size != kFlitBytes) throw Fault(channel + " must ask for beats of the bus's width");
        if (address.addr % kFlitBytes) throw Fault(channel + " must ask for an aligned address");
        if (address.addr / kPage != last / kPage) throw Fault(channel + " must not cross a 4 KiB boundary in a burst");
    }

    // Beats may come before their address: both are matched as soon as both are there.
    void match() {
        while (!lengths_.empty() && !ends_.empty()) {
            const bool is_last = beats_ == lengths_.front();
            if (ends_.front() != is_last) throw Fault(name_ + " m_axi_w must mark the last beat of a burst, and no other");
            ends_.pop_front();
            ++beats_;
            if (!is_last) continue;
            lengths_.pop_front();
            beats_ = 0;
        }
    }

    std::string name_;
    Offer<Address> write_, read_;
    Offer<Beat> beat_;
    std::deque<uint32_t> lengths_;
    std::deque<bool> ends_;
    uint32_t beats_ = 0;
};

}  // namespace conic
