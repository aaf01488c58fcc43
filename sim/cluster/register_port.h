// The host's side of a NIC's or switch's AXI4-Lite port: accesses queued by the host, one at a time, in order. Its outputs
// are registers.
#pragma once

#include <cstdint>

#include "event.h"
#include "mailbox.h"
#include "model.h"

namespace conic {

class RegisterPort {
public:
    explicit RegisterPort(const RegisterPins& pins) : pins_(pins) {
        *pins_.awprot = *pins_.arprot = 0;
        *pins_.wstrb = kWhole;
        *pins_.bready = *pins_.rready = 1;
    }

    void write(uint32_t address, uint32_t value, uint64_t not_before, uint8_t strobes = kWhole) {
        queue_.push_back({true, strobes, address, value, not_before});
    }
    void read(uint32_t address) { queue_.push_back({false, kWhole, address, 0, 0}); }
    bool idle() const { return queue_.empty(); }
    // Forgets all accesses: nobody will answer.
    void drop() {
        while (!queue_.empty()) queue_.pop_front();
        busy_ = awvalid_ = wvalid_ = arvalid_ = false;
    }

    // Value of the last read, and how many accesses were answered with an error.
    uint32_t value() const { return value_; }
    uint32_t errors() const { return errors_; }

    // The earliest cycle in which a step does something if the model drives nothing.
    uint64_t next_access() const { return busy_ ? 0 : queue_.empty() ? UINT64_MAX : queue_.front().not_before; }

    void step(uint64_t now, uint32_t node, EventLog* log) {
        if (*pins_.awready && awvalid_) awvalid_ = false;
        if (*pins_.wready && wvalid_) wvalid_ = false;
        if (*pins_.arready && arvalid_) arvalid_ = false;
        if (busy_ && *pins_.bvalid) finish(*pins_.bresp);
        else if (busy_ && *pins_.rvalid) {
            value_ = *pins_.rdata;
            finish(*pins_.rresp);
        } else if (!busy_ && !queue_.empty() && queue_.front().not_before <= now) {
            access_ = queue_.front();
            busy_ = true;
            awvalid_ = wvalid_ = access_.is_write;
            arvalid_ = !access_.is_write;
            if (log && access_.is_write)
                log->push_back({now, node, EventKind::kRegister, {access_.address, access_.value}});
        }
    }

    // Drives the model's inputs.
    void drive() const {
        *pins_.awvalid = awvalid_;
        *pins_.wvalid = wvalid_;
        *pins_.arvalid = arvalid_;
        if (!busy_) return;
        pins_.awaddr.set(access_.address);
        pins_.araddr.set(access_.address);
        *pins_.wdata = access_.value;
        *pins_.wstrb = access_.strobes;
    }

private:
    static constexpr uint8_t kWhole = 0xF;

    struct Access {
        bool is_write = false;
        uint8_t strobes = kWhole;
        uint32_t address = 0;
        uint32_t value = 0;
        uint64_t not_before = 0;
    };

    void finish(uint8_t response) {
        errors_ += response != 0;
        busy_ = false;
        queue_.pop_front();
    }

    RegisterPins pins_;
    Ring<Access> queue_;
    Access access_;
    bool busy_ = false, awvalid_ = false, wvalid_ = false, arvalid_ = false;
    uint32_t value_ = 0, errors_ = 0;
};

}  // namespace conic
