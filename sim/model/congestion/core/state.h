// The records of records.py, and random numbers that are the same for the same seed on every machine.
#pragma once

#include <algorithm>
#include <cmath>

#include "array.h"
#include "records.h"

namespace conic::congestion {

constexpr int64_t kPsANs = 1000;
constexpr double kBitsANs = 8e9;    // bits of a byte, times nanoseconds of a second
constexpr double kBitsAPs = 8e12;
constexpr int64_t kBitsAMb = 1'000'000;

// A number of [0, 1), 53 bits of it random: xorshift64 (Marsaglia 2003), whose state must not be 0.
inline double uniform(uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
}

// Control packets go before data, are never paused and take no room of a shared buffer.
inline bool is_control(const Control& control, int kind) {
    return kind >= kPause || (kind == kAck && control.is_ack_control);
}

}  // namespace conic::congestion
