// An instance of a module of the design: its block, its memories, and the values of each lane in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "design.h"

// Compiled for each number of lanes: none of these is another's.
namespace conic::lanes { namespace {

constexpr std::size_t kLine = 64;

struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
};
using Bytes = std::unique_ptr<char[], Free>;

// Zeros; pages that nobody touches cost nothing.
Bytes zeros(std::size_t count) {
    count = std::max<std::size_t>(count, kLine);
    auto* bytes = static_cast<char*>(std::calloc(count + kLine, 1));
    if (!bytes) throw std::bad_alloc();
    return Bytes(bytes);
}

char* aligned(char* bytes) {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(bytes) + kLine - 1) / kLine * kLine);
}

std::uint64_t get_lane(const char* at, bool is_mask, unsigned lane) {
    return is_mask ? std::uint64_t(static_cast<unsigned char>(*at) >> lane & 1)
                   : reinterpret_cast<const std::uint64_t*>(at)[lane];
}

void set_lane(char* at, bool is_mask, unsigned lane, std::uint64_t value) {
    if (is_mask)
        *at = static_cast<char>((static_cast<unsigned char>(*at) & ~(1u << lane)) | unsigned(value & 1) << lane);
    else
        reinterpret_cast<std::uint64_t*>(at)[lane] = value;
}

// An instance of a module of the design.
struct Instance {
    const ModuleCode* code;
    std::string path;
    char* block;
    std::vector<Bytes> memories;

    std::uint64_t* activity(unsigned set) const {
        return reinterpret_cast<std::uint64_t*>(block) + set * code->n_activity;
    }
    template <class Pointed>
    Pointed*& pointer(std::uint32_t at, std::size_t index) const {
        return *reinterpret_cast<Pointed**>(block + at + index * sizeof(Pointed*));
    }
    std::uint64_t* memory(std::size_t index) const {
        return pointer<std::uint64_t>(code->memories, index);
    }
};

}}  // namespace conic::lanes
