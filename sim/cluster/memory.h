// Host memory behind a NIC's AXI4 manager port: in order, with latency, jitter and stalls. Its outputs are registers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "mailbox.h"
#include "memory_faults.h"
#include "model.h"
#include "random_stall.h"

namespace conic {

struct MemoryTiming {
    uint64_t read_latency = 0;   // cycles from address to first beat
    uint64_t write_latency = 0;  // cycles from last beat to response
    uint64_t jitter = 0;         // most cycles to add to either
    double stall = 0;            // intensity of random stalls on every channel
    double beat_cycles = 1;      // cycles of a beat each way, at least 1: the bandwidth of what lies in between
};

class AxiMemory {
public:
    AxiMemory(const AxiPins& pins, unsigned flit_bytes, uint64_t bytes, const MemoryTiming& timing, uint64_t seed)
        : faults(seed), pins_(pins), flit_bytes_(flit_bytes), size_(bytes),
          bytes_(static_cast<uint8_t*>(std::calloc(bytes ? bytes : 1, 1))), timing_(timing), stall_(seed, timing.stall) {
        if (!bytes_) throw std::bad_alloc();
        *pins_.rid = *pins_.bid = 0;
    }

    uint8_t* data() { return bytes_.get(); }

    MemoryFaults faults;

    // Reads what the NIC drives in this cycle, and computes what the memory drives in the next one. Calls
    // `written(first, last)` for every burst that has reached memory.
    template <class Written>
    void step(uint64_t now, Written written) {
        accept(now);
        store(now, written);
        drive_read(now);
        drive_response(now);
        arready_ = reads_.size() < kMostBursts && !stall_.pause();
        awready_ = writes_.size() < kMostBursts && !stall_.pause();
        wready_ = beats_.size() < kMostBeats && write_free_ < static_cast<double>(now + 2) && !stall_.pause();
    }

    // Drives the NIC's inputs.
    void drive() const {
        *pins_.arready = arready_;
        *pins_.awready = awready_;
        *pins_.wready = wready_;
        *pins_.rvalid = rvalid_;
        *pins_.rlast = rlast_;
        *pins_.rresp = rresp_;
        if (rvalid_) std::memcpy(pins_.rdata, rdata_, flit_bytes_);
        *pins_.bvalid = bvalid_;
        *pins_.bresp = bresp_;
    }

    // Nothing is going on and nothing will be until the NIC asks for something.
    bool idle() const {
        return !rvalid_ && !bvalid_ && reads_.empty() && writes_.empty() && beats_.empty() && responses_.empty() &&
               timing_.stall <= 0 && arready_ && awready_ && wready_;
    }

private:
    static constexpr size_t kMostBursts = 64;
    static constexpr size_t kMostBeats = 512;
    static constexpr uint8_t kOkay = MemoryFaults::kOkay;
    static constexpr uint8_t kDecodeError = MemoryFaults::kDecodeError;

    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t ready_at;
        uint8_t code;
    };
    struct Beat {
        uint64_t strobes;
        bool last;
        uint8_t data[kMostFlitBytes];
    };
    struct Response {
        uint64_t at;
        uint8_t code;
    };

    // When the next beat may pass, after one in cycle `now`. Fractions add up; what was not used is lost.
    double after_beat(double free, uint64_t now) const {
        return (free > static_cast<double>(now) ? free : static_cast<double>(now)) + timing_.beat_cycles;
    }

    bool inside(uint64_t address) const { return address <= size_ && size_ - address >= flit_bytes_; }

    uint8_t answer(bool is_write, uint64_t now, const Burst& burst) {
        return faults.answer(is_write, now, burst.address, uint64_t{burst.beats} * flit_bytes_);
    }

    void accept(uint64_t now) {
        if (*pins_.arvalid && arready_) {
            Burst burst{*pins_.araddr, *pins_.arlen + 1u, now + timing_.read_latency + stall_.delay(timing_.jitter), kOkay};
            burst.ready_at += faults.late(now);
            burst.code = answer(false, now, burst);
            reads_.push_back(burst);
        }
        if (*pins_.awvalid && awready_) {
            Burst burst{*pins_.awaddr, *pins_.awlen + 1u, 0, kOkay};
            burst.code = answer(true, now, burst);
            writes_.push_back(burst);
        }
        if (*pins_.wvalid && wready_) {
            Beat beat;
            std::memcpy(beat.data, pins_.wdata, flit_bytes_);
            beat.strobes = pins_.wstrb.get();
            beat.last = *pins_.wlast;
            beats_.push_back(beat);
            last_beats_ += beat.last;
            write_free_ = after_beat(write_free_, now);
        }
    }

    template <class Written>
    void store(uint64_t now, Written written) {
        if (writes_.empty() || last_beats_ == 0) return;
        const Burst burst = writes_.front();
        writes_.pop_front();
        --last_beats_;
        uint8_t response = burst.code;
        uint64_t address = burst.address;
        for (bool last = false; !last; address += flit_bytes_) {
            const Beat& beat = beats_.front();
            last = beat.last;
            if (burst.code != kOkay) {
                // Nothing is written.
            } else if (inside(address)) {
                for (unsigned byte = 0; byte < flit_bytes_; ++byte)
                    if (beat.strobes >> byte & 1) bytes_[address + byte] = beat.data[byte];
            } else {
                response = kDecodeError;
            }
            beats_.pop_front();
        }
        responses_.push_back({now + timing_.write_latency + stall_.delay(timing_.jitter) + faults.late(now), response});
        if (burst.code == kOkay) written(burst.address, address);
    }

    void drive_read(uint64_t now) {
        if (rvalid_ && !*pins_.rready) return;
        rvalid_ = false;
        if (reads_.empty() || reads_.front().ready_at > now || read_free_ >= static_cast<double>(now + 1) || stall_.pause())
            return;
        read_free_ = after_beat(read_free_, now);
        Burst& burst = reads_.front();
        rvalid_ = true;
        rlast_ = burst.beats == 1;
        const bool good = burst.code == kOkay && inside(burst.address);
        rresp_ = good ? kOkay : burst.code != kOkay ? burst.code : kDecodeError;
        if (good)
            std::memcpy(rdata_, bytes_.get() + burst.address, flit_bytes_);
        else
            std::memset(rdata_, 0, flit_bytes_);
        burst.address += flit_bytes_;
        if (--burst.beats == 0) reads_.pop_front();
    }

    void drive_response(uint64_t now) {
        if (bvalid_ && !*pins_.bready) return;
        bvalid_ = false;
        if (responses_.empty() || responses_.front().at > now || stall_.pause()) return;
        bvalid_ = true;
        bresp_ = responses_.front().code;
        responses_.pop_front();
    }

    AxiPins pins_;
    unsigned flit_bytes_;
    uint64_t size_;
    struct Free {
        void operator()(uint8_t* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<uint8_t[], Free> bytes_;  // of zeros; pages that nobody touches cost nothing
    MemoryTiming timing_;
    RandomStall stall_;
    Ring<Burst> reads_, writes_;
    Ring<Beat> beats_;
    Ring<Response> responses_;
    uint64_t last_beats_ = 0;
    double read_free_ = 0, write_free_ = 0;
    bool arready_ = false, awready_ = false, wready_ = false;
    bool rvalid_ = false, rlast_ = false, bvalid_ = false;
    uint8_t rresp_ = 0, bresp_ = 0;
    uint8_t rdata_[kMostFlitBytes] = {};
};

}  // namespace conic
