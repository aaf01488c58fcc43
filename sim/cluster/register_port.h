// The host's side of a NIC's or switch's AXI4-Lite port: accesses queued by the host, one at a time, in order.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "event.h"

namespace conic {

template <class Top>
class RegisterPort {
public:
    void write(uint32_t address, uint32_t value, uint64_t not_before) { queue_.push_back({true, address, value, not_before}); }
    void read(uint32_t address) { queue_.push_back({false, address, 0, 0}); }
    bool idle() const { return queue_.empty(); }

    // Value of the last read, and how many accesses were answered with an error.
    uint32_t value() const { return value_; }
    uint32_t errors() const { return errors_; }

    void step(Top& top, uint64_t now, uint32_t node, EventLog* log) {
        if (top.s_axil_awready && awvalid_) awvalid_ = false;
        if (top.s_axil_wready && wvalid_) wvalid_ = false;
        if (top.s_axil_arready && arvalid_) arvalid_ = false;
        if (busy_ && top.s_axil_bvalid) finish(top.s_axil_bresp);
        else if (busy_ && top.s_axil_rvalid) {
            value_ = top.s_axil_rdata;
            finish(top.s_axil_rresp);
        } else if (!busy_ && !queue_.empty() && queue_.front().not_before <= now) {
            const Access& access = queue_.front();
            busy_ = true;
            awvalid_ = wvalid_ = access.is_write;
            arvalid_ = !access.is_write;
            if (log && access.is_write)
                log->push_back({now, node, EventKind::kRegister, {access.address, access.value}});
        }
    }

    void apply(Top& top) const {
        const Access access = queue_.empty() ? Access{} : queue_.front();
        top.s_axil_awvalid = awvalid_;
        top.s_axil_awaddr = access.address;
        top.s_axil_awprot = 0;
        top.s_axil_wvalid = wvalid_;
        top.s_axil_wdata = access.value;
        top.s_axil_wstrb = 0xF;
        top.s_axil_bready = 1;
        top.s_axil_arvalid = arvalid_;
        top.s_axil_araddr = access.address;
        top.s_axil_arprot = 0;
        top.s_axil_rready = 1;
    }

private:
    struct Access {
        bool is_write = false;
        uint32_t address = 0;
        uint32_t value = 0;
        uint64_t not_before = 0;
    };

    void finish(uint8_t response) {
        errors_ += response != 0;
        busy_ = false;
        queue_.pop_front();
    }

    std::deque<Access> queue_;
    bool busy_ = false, awvalid_ = false, wvalid_ = false, arvalid_ = false;
    uint32_t value_ = 0, errors_ = 0;
};

}  // namespace conic
