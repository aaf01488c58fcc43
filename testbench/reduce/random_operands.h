// Random operands of which every kind that floating-point hardware treats in its own way is frequent.

#ifndef CONIC_RANDOM_OPERANDS_H
#define CONIC_RANDOM_OPERANDS_H

#include <cstdint>
#include <cstring>
#include <utility>

// Small, fast and good enough: splitmix64.
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    uint64_t below(uint64_t n) { return next() % n; }
};

template <typename Float, typename Word, int exponent_bits, int fraction_bits>
struct FloatOperands {
    static constexpr uint64_t max_exponent = (uint64_t(1) << exponent_bits) - 1;
    static constexpr uint64_t bias = max_exponent / 2;
    static constexpr uint64_t fraction_mask = (uint64_t(1) << fraction_bits) - 1;
    static constexpr uint64_t sign_bit = uint64_t(1) << (exponent_bits + fraction_bits);
    static constexpr uint64_t infinity = max_exponent << fraction_bits;
    static constexpr uint64_t canonical_nan = infinity | (fraction_mask + 1) >> 1;

    Random &random;

    // A pair for additions and comparisons.
    void sum_pair(uint64_t &a, uint64_t &b) {
        const uint64_t exponent = random.below(max_exponent + 1);
        switch (random.below(8)) {
            case 0: anything(a, b); break;
            case 1:  // equal but for a few low bits, mostly with opposite signs
                a = make(exponent);
                b = (a ^ sign_bit) + random.below(8) - 4;
                if (random.below(8) == 0) b ^= sign_bit;
                b &= sign_bit | (sign_bit - 1);
                break;
            case 2:  // neighbouring exponents
                a = make(exponent);
                b = make(near(exponent, 2));
                break;
            case 3:  // subnormal or close to it
                a = make(random.below(4));
                b = make(random.below(fraction_bits + 8));
                break;
            case 4:  // close to overflow
                a = make(max_exponent - random.below(4));
                b = make(max_exponent - random.below(4) * random.below(20));
                break;
            case 5: specials(a, b, exponent); break;
            default:  // every distance up to and beyond the width of a significand
                a = make(exponent);
                b = make(near(exponent, fraction_bits + 4));
        }
        if (random.next() & 1) std::swap(a, b);
    }

    // A pair for products: what matters is where the product lies.
    void product_pair(uint64_t &a, uint64_t &b) {
        const uint64_t exponent = random.below(max_exponent + 1);
        switch (random.below(8)) {
            case 0: anything(a, b); break;
            case 1: specials(a, b, exponent); break;
            case 2:  // a product around the largest number
                a = make(exponent);
                b = make(clipped(int64_t(max_exponent + bias) - int64_t(exponent) + int64_t(random.below(5)) - 3));
                break;
            case 3:
            case 4:  // a subnormal product, or one that is nearly 0 or nearly normal
                a = make(exponent);
                b = make(clipped(int64_t(bias) - int64_t(exponent) + 3 - int64_t(random.below(fraction_bits + 8))));
                break;
            case 5:  // a subnormal with a number that brings the product back
                a = make(0);
                b = make(bias + random.below(max_exponent - bias));
                break;
            default:  // an ordinary product
                a = make(exponent);
                b = make(near(bias, fraction_bits));
        }
        if (random.next() & 1) std::swap(a, b);
    }

    static Float value(uint64_t bits) {
        const Word word = Word(bits);
        Float number;
        std::memcpy(&number, &word, sizeof number);
        return number;
    }

    static uint64_t bits(Float number) {
        if (number != number) return canonical_nan;
        Word word;
        std::memcpy(&word, &number, sizeof word);
        return word;
    }

   private:
    void anything(uint64_t &a, uint64_t &b) {
        a = random.next() & (sign_bit | (sign_bit - 1));
        b = random.next() & (sign_bit | (sign_bit - 1));
    }

    // Zeros, infinities, NaNs, smallest and largest numbers.
    void specials(uint64_t &a, uint64_t &b, uint64_t exponent) {
        a = sign() | special();
        b = random.below(2) ? sign() | special() : make(exponent);
    }

    uint64_t special() {
        const uint64_t values[] = {
            0, 1, fraction_mask, fraction_mask + 1, fraction_mask + 2, infinity - 1, infinity, infinity + 1,
            canonical_nan, infinity | fraction_mask,
        };
        return values[random.below(sizeof values / sizeof *values)];
    }

    uint64_t sign() { return random.next() & sign_bit; }

    // Uniform, or with long runs of equal bits: these give ties, carries through all places and deep cancellation.
    uint64_t fraction() {
        const uint64_t bits = random.next();
        const uint64_t run = (uint64_t(1) << random.below(fraction_bits + 1)) - 1;
        switch (random.below(6)) {
            case 0: return run;
            case 1: return ~run & fraction_mask;
            case 2: return (run + 1) & fraction_mask;
            case 3: return bits & ~run & fraction_mask;
            default: return bits & fraction_mask;
        }
    }

    uint64_t make(uint64_t exponent) { return sign() | exponent << fraction_bits | fraction(); }

    static uint64_t clipped(int64_t exponent) {
        if (exponent < 0) return 0;
        return exponent > int64_t(max_exponent) ? max_exponent : uint64_t(exponent);
    }

    // An exponent near another one; the distances around the width of a significand matter as well as the small ones.
    uint64_t near(uint64_t exponent, uint64_t distance) {
        return clipped(int64_t(exponent) + int64_t(random.below(2 * distance + 1)) - int64_t(distance));
    }
};

using Doubles = FloatOperands<double, uint64_t, 11, 52>;
using Singles = FloatOperands<float, uint32_t, 8, 23>;

#endif
