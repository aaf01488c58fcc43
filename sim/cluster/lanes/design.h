// What the generator says of a design beside the code of its parts (tables.py writes it; bank.cpp reads it).
#pragma once

#include <cstdint>

namespace conic::lanes {

using Function = void (*)(char* block);

// Registers of a part in its block: where present and next values stand. Masks are bytes, words vectors.
struct Run {
    std::uint32_t masks, next_masks, n_masks, words, next_words, n_words;
};

// A value that does not begin with 0, or, with a width, one that begins with random bits.
struct Start {
    std::uint32_t at;       // offset in the block
    std::uint32_t is_mask;
    std::uint32_t width;    // of a random one, at most 64; 0 for others
    std::uint64_t value;
};

struct MemoryStart {
    std::uint64_t address;
    std::uint32_t word;
    std::uint64_t value;
};

struct MemoryCode {
    const char* name;
    std::uint64_t depth;
    std::uint32_t n_words, width;
    std::uint32_t n_starts;
    const MemoryStart* starts;
};

struct AssertionCode {
    std::uint32_t at;
    const char* text;
};

// A register's name, and where `width` bits of it stand: from `low` of the word, or mask, at `at`.
struct RegisterCode {
    const char* name;
    std::uint32_t first_bit, width, at, low, is_mask;
};

struct Mark {
    std::uint32_t word;
    std::uint64_t bits;
};

// A register to which every cycle adds `step`, and the parts that follow it.
struct TimerCode {
    std::uint32_t at, width;
    std::uint64_t step;
    std::uint32_t n_marks;
    const Mark* marks;
};

struct ModuleCode {
    const char* name;
    std::uint32_t size, n_activity, n_stages;
    const std::uint32_t* stage_ends;   // words of activity of all stages up to each
    const Function* parts;             // 64 for each word of activity
    const Run* runs;                   // likewise
    const Function* writes;            // likewise; null for parts without
    std::uint32_t children, listeners, memories, alarm, moved;
    std::uint32_t n_outputs, n_memories, n_starts, n_assertions, n_registers, n_timers;
    const MemoryCode* memory;
    const Start* starts;
    const AssertionCode* assertions;
    const RegisterCode* registers;
    const TimerCode* timers;
    std::uint32_t masks, masks_end, words, words_end;  // present values of registers
};

struct Follower {
    std::uint32_t instance, output;    // of which the instance around it follows an output
    std::uint32_t word;                // of the activity of the one around it
    std::uint64_t bits;
};

struct InstanceCode {
    const ModuleCode* module;
    const char* path;
    std::int32_t around;               // the instance around it; -1 for the top
    std::uint32_t slot;                // its number among the instances there
};

// A port of the top. Pins are bytes, or words of 2, 4 or 8 bytes; wider ones several of 4.
struct PortCode {
    const char* name;
    std::uint32_t width, is_output;
    std::uint32_t at;                  // in the block of the top; of inputs that nothing follows 0
    std::uint32_t pin, pin_bytes;      // in the pins of a lane
    std::uint32_t n_marks;             // of parts that follow an input
    const Mark* marks;
};

struct Design {
    const char* name;
    std::uint32_t n_stages, n_instances, n_followers, n_ports;
    const InstanceCode* instances;     // the top first; each behind the one around it
    const Follower* followers;
    const PortCode* ports;             // inputs, then outputs
    std::uint32_t n_inputs, input_bytes, pin_bytes;  // pins of inputs stand before those of outputs
    std::uint32_t flit_bytes, words;   // of links; whether they carry words of reliable links
};

}  // namespace conic::lanes
