// Members of a Verilated model by the names of the design.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "model.h"
#include "verilated.h"

namespace conic {

inline uint64_t mix(uint64_t hash, const void* data, size_t bytes) {
    const auto* at = static_cast<const uint8_t*>(data);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15;
        hash ^= hash >> 29;
    }
    for (; bytes; --bytes) hash = (hash ^ *at++) * 0x100000001B3;
    return hash;
}

// A register, or a memory, whose words stand one behind the other.
struct RegisterAt {
    template <class Value>
    RegisterAt(const char* name, Value& value) : name(name), at(&value), bytes(sizeof(value)), count(1) {}
    template <class Value, std::size_t kDepth>
    RegisterAt(const char* name, VlUnpacked<Value, kDepth>& memory)
        : name(name), at(&memory[0]), bytes(sizeof(Value)), count(kDepth) {}

    Register as_register() const {
        const size_t words = (bytes + 7) / 8;
        char* const first = static_cast<char*>(at);
        const size_t size = bytes, number = count;
        Register made;
        made.n_words = words * number;
        made.known.assign(made.n_words, ~uint64_t{0});
        made.get = [=](uint64_t* values) {
            for (size_t n = 0; n < number; ++n) {
                values[(n + 1) * words - 1] = 0;
                std::memcpy(values + n * words, first + n * size, size);
            }
        };
        made.set = [=](const uint64_t* values) {
            for (size_t n = 0; n < number; ++n) std::memcpy(first + n * size, values + n * words, size);
        };
        return made;
    }

    const char* name;
    void* at;
    size_t bytes, count;
};

}  // namespace conic
