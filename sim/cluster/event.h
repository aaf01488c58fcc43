// What a run leaves behind for timelines. The layout is mirrored by `EVENT` in cluster.py.
#pragma once

#include <cstdint>
#include <vector>

namespace conic {

enum class EventKind : uint32_t {
    kTransmit = 0,   // a packet's first flits left a NIC; data: packet header
    kReceive = 1,    // a packet's first flits reached a NIC; data: packet header
    kUnit = 2,       // an offload unit did something; data: unit, event, job_id, pulse, index
    kRegister = 3,   // a register was written; data: address, value
    kWatch = 4,      // a watched word of memory was written; data: address
    kTransmitEnd = 5,  // the last flit of a packet left; data: packet header
    kReceiveEnd = 6,   // the last flit of a packet arrived; data: packet header
};

struct Event {
    uint64_t cycle;
    uint32_t node;
    EventKind kind;
    uint64_t data[8];
};

using EventLog = std::vector<Event>;

}  // namespace conic
