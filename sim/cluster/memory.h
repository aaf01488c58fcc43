// Host memory behind a NIC's AXI4 manager port: in order, with latency, jitter and stalls. Its outputs are registers.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "random_stall.h"
#include "shape.h"

namespace conic {

struct MemoryTiming {
    uint64_t read_latency = 0;   // cycles from address to first beat
    uint64_t write_latency = 0;  // cycles from last beat to response
    uint64_t jitter = 0;         // most cycles to add to either
    double stall = 0;            // intensity of random stalls on every channel
};

template <class Top>
class AxiMemory {
public:
    AxiMemory(uint64_t bytes, const MemoryTiming& timing, uint64_t seed)
        : bytes_(bytes, 0), timing_(timing), stall_(seed, timing.stall) {}

    uint8_t* data() { return bytes_.data(); }

    // Reads what the NIC drives in this cycle, and computes what the memory drives in the next one. Calls
    // `written(first, last)` for every burst that has reached memory.
    template <class Written>
    void step(Top& top, uint64_t now, Written written) {
        accept(top, now);
        store(now, written);
        drive_read(top, now);
        drive_response(top, now);
        arready_ = reads_.size() < kMostBursts && !stall_.pause();
        awready_ = writes_.size() < kMostBursts && !stall_.pause();
        wready_ = beats_.size() < kMostBeats && !stall_.pause();
    }

    // Applies the registered outputs to the NIC's inputs.
    void apply(Top& top) const {
        top.m_axi_arready = arready_;
        top.m_axi_awready = awready_;
        top.m_axi_wready = wready_;
        top.m_axi_rvalid = rvalid_;
        top.m_axi_rlast = rlast_;
        top.m_axi_rresp = rresp_;
        top.m_axi_rid = 0;
        std::memcpy(&top.m_axi_rdata, rdata_, kFlitBytes);
        top.m_axi_bvalid = bvalid_;
        top.m_axi_bresp = bresp_;
        top.m_axi_bid = 0;
    }

private:
    static constexpr size_t kMostBursts = 64;
    static constexpr size_t kMostBeats = 512;
    static constexpr uint8_t kOkay = 0;
    static constexpr uint8_t kDecodeError = 3;

    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t ready_at;
    };
    struct Beat {
        uint8_t data[kFlitBytes];
        uint64_t strobes;
        bool last;
    };

    bool inside(uint64_t address) const { return address <= bytes_.size() && bytes_.size() - address >= kFlitBytes; }

    void accept(Top& top, uint64_t now) {
        if (top.m_axi_arvalid && arready_)
            reads_.push_back({top.m_axi_araddr, top.m_axi_arlen + 1u,
                              now + timing_.read_latency + stall_.delay(timing_.jitter)});
        if (top.m_axi_awvalid && awready_) writes_.push_back({top.m_axi_awaddr, top.m_axi_awlen + 1u, 0});
        if (top.m_axi_wvalid && wready_) {
            Beat beat{};
            std::memcpy(beat.data, &top.m_axi_wdata, kFlitBytes);
            std::memcpy(&beat.strobes, &top.m_axi_wstrb, sizeof(top.m_axi_wstrb));
            beat.last = top.m_axi_wlast;
            beats_.push_back(beat);
            last_beats_ += beat.last;
        }
    }

    template <class Written>
    void store(uint64_t now, Written written) {
        if (writes_.empty() || last_beats_ == 0) return;
        const Burst burst = writes_.front();
        writes_.pop_front();
        --last_beats_;
        uint8_t response = kOkay;
        uint64_t address = burst.address;
        for (bool last = false; !last; address += kFlitBytes) {
            const Beat beat = beats_.front();
            beats_.pop_front();
            last = beat.last;
            if (!inside(address)) {
                response = kDecodeError;
                continue;
            }
            for (unsigned byte = 0; byte < kFlitBytes; ++byte)
                if (beat.strobes >> byte & 1) bytes_[address + byte] = beat.data[byte];
        }
        responses_.push_back({now + timing_.write_latency + stall_.delay(timing_.jitter), response});
        written(burst.address, address);
    }

    void drive_read(Top& top, uint64_t now) {
        if (rvalid_ && !top.m_axi_rready) return;
        rvalid_ = false;
        if (reads_.empty() || reads_.front().ready_at > now || stall_.pause()) return;
        Burst& burst = reads_.front();
        rvalid_ = true;
        rlast_ = burst.beats == 1;
        const bool good = inside(burst.address);
        rresp_ = good ? kOkay : kDecodeError;
        if (good)
            std::memcpy(rdata_, bytes_.data() + burst.address, kFlitBytes);
        else
            std::memset(rdata_, 0, kFlitBytes);
        burst.address += kFlitBytes;
        if (--burst.beats == 0) reads_.pop_front();
    }

    void drive_response(Top& top, uint64_t now) {
        if (bvalid_ && !top.m_axi_bready) return;
        bvalid_ = false;
        if (responses_.empty() || responses_.front().first > now || stall_.pause()) return;
        bvalid_ = true;
        bresp_ = responses_.front().second;
        responses_.pop_front();
    }

    std::vector<uint8_t> bytes_;
    MemoryTiming timing_;
    RandomStall stall_;
    std::deque<Burst> reads_, writes_;
    std::deque<Beat> beats_;
    std::deque<std::pair<uint64_t, uint8_t>> responses_;
    uint64_t last_beats_ = 0;
    bool arready_ = false, awready_ = false, wready_ = false;
    bool rvalid_ = false, rlast_ = false, bvalid_ = false;
    uint8_t rresp_ = 0, bresp_ = 0;
    uint8_t rdata_[kFlitBytes] = {};
};

}  // namespace conic
