// What the generated code asks of the machine: words of all lanes, and masks with a bit for each lane.
//
// A vector is a word of 64 bits for each of LANES nodes; of one node it is a number. Its arithmetic is that of the
// compiler's vector types, on all machines; comparisons, choices and memories differ. CONIC_ISA says which way they go:
// 512 for AVX-512, 2 for AVX2, 0 for what the compiler makes of loops over lanes.
#pragma once

#include <cstdint>
#include <cstring>

#if CONIC_ISA
#include <immintrin.h>
#endif

namespace conic::lanes {

#if LANES == 1
using V = std::uint64_t;
#define LANE(v, n) (v)
#define C(x) (std::uint64_t(x))
#define ZERO (std::uint64_t{0})
#else
typedef std::uint64_t V __attribute__((vector_size(8 * LANES)));
#define LANE(v, n) ((v)[n])
#define C(x) (V{} + std::uint64_t(x))
#define ZERO (V{})
#endif
using M = unsigned;
// A mask in memory. An enumeration is no character, so the compiler knows that it is no part of a vector.
enum Mask : std::uint8_t {};

constexpr M ALL = (1u << LANES) - 1;

#if LANES == 1
#define SAME(a, b) M((a) == (b))
#define BELOW(a, b) M((a) < (b))
#define BIT(v, bits) M(((v) & (bits)) != 0)
#define SOME(v) M((v) != 0)
#define BLEND(m, a, b) ((m) ? (a) : (b))
#define WHERE(m, a) ((a) & -std::uint64_t(m))
#define SPREAD(m, bits) (-std::uint64_t(m) & (bits))
static inline V LEFT(V v, V n) { return n < 64 ? v << n : 0; }
static inline V RIGHT(V v, V n) { return n < 64 ? v >> n : 0; }
#elif CONIC_ISA == 512
#if LANES == 8
#define EACH_(name) _mm512_##name
#define OF_(v) ((__m512i)(v))
#elif LANES == 4
#define EACH_(name) _mm256_##name
#define OF_(v) ((__m256i)(v))
#elif LANES == 2
#define EACH_(name) _mm_##name
#define OF_(v) ((__m128i)(v))
#endif
#define SAME(a, b) M(EACH_(cmpeq_epi64_mask)(OF_(a), OF_(b)))
#define BELOW(a, b) M(EACH_(cmplt_epu64_mask)(OF_(a), OF_(b)))
#define BIT(v, bits) M(EACH_(test_epi64_mask)(OF_(v), OF_(C(bits))))
#define SOME(v) M(EACH_(test_epi64_mask)(OF_(v), OF_(v)))
#define BLEND(m, a, b) V(EACH_(mask_blend_epi64)(__mmask8(m), OF_(b), OF_(a)))
#define WHERE(m, a) V(EACH_(maskz_mov_epi64)(__mmask8(m), OF_(a)))
#define SPREAD(m, bits) V(EACH_(maskz_mov_epi64)(__mmask8(m), OF_(C(bits))))
#define LEFT(v, n) V(EACH_(sllv_epi64)(OF_(v), OF_(n)))
#define RIGHT(v, n) V(EACH_(srlv_epi64)(OF_(v), OF_(n)))
#else
static inline M SAME(V a, V b) {
    M m = 0;
    for (unsigned n = 0; n < LANES; ++n) m |= M(a[n] == b[n]) << n;
    return m;
}
static inline M BELOW(V a, V b) {
    M m = 0;
    for (unsigned n = 0; n < LANES; ++n) m |= M(a[n] < b[n]) << n;
    return m;
}
// Vectors of all ones where a mask has a bit.
struct Spreads {
    V of[1u << LANES];
    constexpr Spreads() : of{} {
        for (unsigned m = 0; m < 1u << LANES; ++m)
            for (unsigned n = 0; n < LANES; ++n) of[m][n] = m >> n & 1 ? ~std::uint64_t{0} : 0;
    }
};
extern const Spreads spreads;
#define FULL_(m) (::conic::lanes::spreads.of[m])
#define BIT(v, bits) (SAME((v) & C(bits), ZERO) ^ ALL)
#define SOME(v) (SAME((v), ZERO) ^ ALL)
#define BLEND(m, a, b) ((V)(((a) & FULL_(m)) | ((b) & ~FULL_(m))))
#define WHERE(m, a) ((V)((a) & FULL_(m)))
#define SPREAD(m, bits) ((V)(C(bits) & FULL_(m)))
static inline V LEFT(V v, V n) { return (v << (n & C(63))) & (V)(n < C(64)); }
static inline V RIGHT(V v, V n) { return (v >> (n & C(63))) & (V)(n < C(64)); }
#endif

#define UNLESS(m, a) WHERE((m) ^ ALL, a)
#define PICK(m, a, b) (((m) & (a)) | (~(m) & (b)))
#define EVERY(v, bits) SAME((v) & C(bits), C(bits))
#define EQUAL(difference) (SOME(difference) ^ ALL)

static inline M ODD(V v) {
    v ^= v >> 32;
    v ^= v >> 16;
    v ^= v >> 8;
    v ^= v >> 4;
    return BIT(C(0x6996) >> (v & C(15)), 1ull);
}

// The upper half of a product.
static inline V HIGH(V a, V b) {
    for (unsigned n = 0; n < LANES; ++n)
        LANE(a, n) = std::uint64_t((unsigned __int128)LANE(a, n) * LANE(b, n) >> 64);
    return a;
}

// Rows become columns: bit n of word m changes places with bit m of word n, for a size of 8 to 64. Halves of rows are
// exchanged, then quarters, and so on (Warren: Hacker's Delight, section 7-3).
static __attribute__((noinline, unused)) void TRANSPOSE(V* words, unsigned size) {
    for (unsigned half = size / 2; half; half /= 2) {
        std::uint64_t low = 0;
        for (unsigned bit = 0; bit < 64; ++bit) low |= std::uint64_t{!(bit & half)} << bit;
        for (unsigned n = 0; n < size; n = ((n | half) + 1) & ~half) {
            const V other = ((words[n] >> half) ^ words[n | half]) & C(low);
            words[n] ^= other << half;
            words[n | half] ^= other;
        }
    }
}

// Word `index` of the words at an address of a memory, for each lane that is on. Memories hold, for each address and word,
// all lanes beside each other. An address beyond the end reads 0, and is not written.
static inline V LOAD(const std::uint64_t* memory, unsigned words, unsigned index, std::uint64_t depth, M on, V address) {
    V got = ZERO;
    for (unsigned n = 0; n < LANES; ++n)
        if (on >> n & 1 && LANE(address, n) < depth)
            LANE(got, n) = memory[(LANE(address, n) * words + index) * LANES + n];
    return got;
}

static inline void STORE(std::uint64_t* memory, unsigned words, unsigned index, std::uint64_t depth, M on, V address, V data,
                         V bits) {
    for (; on; on &= on - 1) {
        const unsigned n = unsigned(__builtin_ctz(on));
        if (LANE(address, n) >= depth) continue;
        std::uint64_t& word = memory[(LANE(address, n) * words + index) * LANES + n];
        word = (word & ~LANE(bits, n)) | (LANE(data, n) & LANE(bits, n));
    }
}

// Who follows an output of an instance: bits to be set, up to one without a word.
struct Listener {
    std::uint64_t* word;
    std::uint64_t bits;
};

static inline void tell(const Listener* listener) {
    for (; listener->word; ++listener) *listener->word |= listener->bits;
}

#define MASK_OF(block, at) M(*reinterpret_cast<const Mask*>((block) + (at)))
#define WORDS_OF(block, at) (*reinterpret_cast<const V*>((block) + (at)))
#define MASK(at) MASK_OF(b, at)
#define WORDS(at) WORDS_OF(b, at)
#define POINTED(type, at) (*reinterpret_cast<type**>(b + (at)))
#define RAISE(block, at, bits) *reinterpret_cast<std::uint64_t*>((block) + (at)) |= (bits);
#define SET_MASK(at, m) *reinterpret_cast<Mask*>(b + (at)) = Mask(m);
#define SET_WORDS(at, v) *reinterpret_cast<V*>(b + (at)) = (v);
#define FIRST_MASK(difference, block, old, now, m)                     \
    M difference = MASK_OF(block, old) ^ (m);                          \
    *reinterpret_cast<Mask*>((block) + (now)) = Mask(m);
#define CHANGE_MASK(difference, block, old, now, m)                    \
    difference |= MASK_OF(block, old) ^ (m);                           \
    *reinterpret_cast<Mask*>((block) + (now)) = Mask(m);
#define FIRST_WORD(difference, block, old, now, v)                     \
    V difference = WORDS_OF(block, old) ^ (v);                         \
    *reinterpret_cast<V*>((block) + (now)) = (v);
#define CHANGE_WORD(difference, block, old, now, v)                    \
    difference |= WORDS_OF(block, old) ^ (v);                          \
    *reinterpret_cast<V*>((block) + (now)) = (v);
#define ASSERTION(block, at, m, alarm)                                 \
    if (MASK(at) != (m)) {                                             \
        SET_MASK(at, m)                                                \
        *POINTED(std::uint64_t, alarm) = 1;                            \
    }

}  // namespace conic::lanes
