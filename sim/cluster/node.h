// A NIC with its host: memory, register accesses, and what is watched of both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "axi_rules.h"
#include "memory.h"
#include "station.h"

namespace conic {

class Node : public Station {
public:
    Node(uint32_t number, Model& model, uint64_t memory_bytes, const MemoryTiming& timing, uint64_t seed)
        : Station("nic" + std::to_string(number), number, model),
          memory(model.memory, model.flit_bytes, memory_bytes, timing, seed), rules_(model.memory, model.flit_bytes) {}

    // Makes a run wait until the NIC writes the word at `address`.
    void watch(uint64_t address) {
        written_.erase(address);
        if (std::find(awaited_.begin(), awaited_.end(), address) == awaited_.end()) awaited_.push_back(address);
    }
    // Records every burst of the NIC's that ends in [first, last), with its cycle, in `landed`; for any number of ranges
    // that do not overlap.
    void observe(uint64_t first, uint64_t last) { observed_[first] = last; }
    EventLog landed;
    bool was_written(uint64_t address) const { return written_.count(address); }
    bool settled() const override { return awaited_.empty() && Station::settled(); }

    AxiMemory memory;

protected:
    void step_host(uint64_t now, EventLog* log) override {
        if (log) log_units(now, *log);
        rules_.check();
        memory.step(now, [&](uint64_t first, uint64_t last) {
            if (auto range = observed_.upper_bound(first); range != observed_.begin() && first < (--range)->second)
                landed.push_back({now, number_, EventKind::kWatch, {first}});
            for (size_t n = 0; n < awaited_.size();) {
                const uint64_t address = awaited_[n];
                if (address < first || address >= last) {
                    ++n;
                    continue;
                }
                awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(n));
                written_.insert(address);
                settled_at_ = now + 1;
                if (log) log->push_back({now, number_, EventKind::kWatch, {address}});
            }
        });
    }
    void drive_host() override { memory.drive(); }
    bool host_is_idle() const override { return memory.idle(); }
    bool drives_host() const override {
        const AxiPins& pins = model_.memory;
        if (*pins.arvalid || *pins.awvalid || *pins.wvalid) return true;
        return std::any_of(model_.units.begin(), model_.units.end(), [](const TracePins& unit) { return *unit.valid; });
    }
    void log_sent(const Flit& flit, uint64_t now, EventLog* log) override {
        sent_.see(flit.data, model_.flit_bytes, flit.last, flit.vc, now, number_, log);
    }
    void log_received(const void* data, bool last, uint8_t vc, uint64_t now, EventLog* log) override {
        received_.see(data, model_.flit_bytes, last, vc, now, number_, log);
    }

private:
    void log_units(uint64_t now, EventLog& log) const {
        for (size_t unit = 0; unit < model_.units.size(); ++unit) {
            const TracePins& pins = model_.units[unit];
            if (*pins.valid)
                log.push_back({now, number_, EventKind::kUnit,
                               {unit, pins.event.get(), pins.job_id.get(), pins.pulse.get(), pins.index.get()}});
        }
    }

    AxiRules rules_;
    PacketWatch sent_{EventKind::kTransmit, EventKind::kTransmitEnd};
    PacketWatch received_{EventKind::kReceive, EventKind::kReceiveEnd};
    std::map<uint64_t, uint64_t> observed_;  // ranges, by their beginnings
    std::vector<uint64_t> awaited_;
    std::unordered_set<uint64_t> written_;
};

}  // namespace conic
