// Stands in for the LZ4 library where Verilator's FST writer wants it: waveforms need no development
// package of the system. Blocks are valid LZ4, made of literals alone.
#pragma once
#include <cstring>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    if (capacity < LZ4_compressBound(size)) return 0;
    unsigned char* out = reinterpret_cast<unsigned char*>(target);
    // One sequence without a match: the token's high nibble is the length, 15 means that bytes of it follow.
    if (size < 15) {
        *out++ = static_cast<unsigned char>(size << 4);
    } else {
        *out++ = 0xF0;
        int rest = size - 15;
        for (; rest >= 255; rest -= 255) *out++ = 255;
        *out++ = static_cast<unsigned char>(rest);
    }
    std::memcpy(out, source, size);
    return static_cast<int>(out + size - reinterpret_cast<unsigned char*>(target));
}
