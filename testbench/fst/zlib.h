// Stands in for zlib where Verilator's FST writer wants it: waveforms need no development package of the
// system. Streams are valid zlib, made of stored blocks alone.
#pragma once
#include <cstring>

using Byte = unsigned char;
using Bytef = Byte;
using uInt = unsigned int;
using uLong = unsigned long;
using uLongf = uLong;

constexpr int Z_OK = 0;
constexpr int Z_BUF_ERROR = -5;

inline uLong compressBound(uLong size) { return size + 5 * (size / 65535 + 1) + 6; }

inline int compress2(Bytef* target, uLongf* target_size, const Bytef* source, uLong size, int /*level*/) {
    if (*target_size < compressBound(size)) return Z_BUF_ERROR;
    Bytef* out = target;
    *out++ = 0x78;
    *out++ = 0x01;
    uLong a = 1, b = 0, done = 0;
    do {
        const uLong block = size - done < 65535 ? size - done : 65535;
        *out++ = done + block == size;
        *out++ = block & 0xFF;
        *out++ = block >> 8;
        *out++ = ~block & 0xFF;
        *out++ = (~block >> 8) & 0xFF;
        std::memcpy(out, source + done, block);
        out += block;
        for (uLong k = 0; k < block; ++k) {
            a = (a + source[done + k]) % 65521;
            b = (b + a) % 65521;
        }
        done += block;
    } while (done < size);
    *out++ = b >> 8;
    *out++ = b & 0xFF;
    *out++ = a >> 8;
    *out++ = a & 0xFF;
    *target_size = out - target;
    return Z_OK;
}
