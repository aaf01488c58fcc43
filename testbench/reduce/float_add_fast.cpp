// Drives a Verilated bank of adders as fast as it goes and compares every result, in its cycle.
//
// Arguments: float64 or float32, pairs, seed; or: table, 0, seed, path. The expected sums are those of this
// machine's own arithmetic, or come from a table of all pairs of a tiny format. Prints one JSON object.
//
// DEPTHS, given by the build, is a list X(5) X(6) ... of the adders in the bank.

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "Vbank.h"
#include "verilated.h"

namespace {

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

struct Pair {
    uint64_t a, b, sum;
};

struct Source {
    virtual ~Source() = default;
    virtual uint64_t count() const = 0;
    virtual Pair next() = 0;
};

// Pairs of which every kind that an adder treats in its own way is frequent.
template <typename Float, typename Word, int exponent_bits, int fraction_bits>
struct HostSource : Source {
    static constexpr uint64_t max_exponent = (uint64_t(1) << exponent_bits) - 1;
    static constexpr uint64_t fraction_mask = (uint64_t(1) << fraction_bits) - 1;
    static constexpr uint64_t sign_bit = uint64_t(1) << (exponent_bits + fraction_bits);

    uint64_t pairs;
    Random random;

    HostSource(uint64_t pairs, uint64_t seed) : pairs(pairs), random{seed} {}
    uint64_t count() const override { return pairs; }

    uint64_t sign() { return random.next() & sign_bit; }

    // Uniform, or with long runs of equal bits: these give ties, carries through all places and deep cancellation.
    uint64_t fraction() {
        uint64_t bits = random.next();
        uint64_t run = (uint64_t(1) << random.below(fraction_bits + 1)) - 1;
        switch (random.below(6)) {
            case 0: return run;
            case 1: return ~run & fraction_mask;
            case 2: return (run + 1) & fraction_mask;
            case 3: return bits & ~run & fraction_mask;
            default: return bits & fraction_mask;
        }
    }

    uint64_t make(uint64_t exponent) { return sign() | exponent << fraction_bits | fraction(); }

    // An exponent near another one; the distances around the width of a significand matter as well as the small ones.
    uint64_t near(uint64_t exponent, uint64_t distance) {
        int64_t other = int64_t(exponent) + int64_t(random.below(2 * distance + 1)) - int64_t(distance);
        if (other < 0) other = 0;
        if (other > int64_t(max_exponent)) other = max_exponent;
        return other;
    }

    Pair next() override {
        uint64_t a, b;
        uint64_t exponent = random.below(max_exponent + 1);
        switch (random.below(8)) {
            case 0:  // anything
                a = random.next() & (sign_bit | (sign_bit - 1));
                b = random.next() & (sign_bit | (sign_bit - 1));
                break;
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
            case 5:  // zeros, infinities, smallest and largest numbers
                a = sign() | special();
                b = random.below(2) ? sign() | special() : make(exponent);
                break;
            default:  // every distance up to and beyond the width of a significand
                a = make(exponent);
                b = make(near(exponent, fraction_bits + 4));
        }
        if (random.next() & 1) std::swap(a, b);
        return {a, b, sum(a, b)};
    }

    uint64_t special() {
        const uint64_t infinity = max_exponent << fraction_bits;
        const uint64_t values[] = {
            0, 1, fraction_mask, fraction_mask + 1, fraction_mask + 2, infinity - 1, infinity, infinity + 1,
            infinity | (fraction_mask + 1) >> 1, infinity | fraction_mask,
        };
        return values[random.below(sizeof values / sizeof *values)];
    }

    static uint64_t sum(uint64_t a, uint64_t b) {
        const Word word_a = Word(a), word_b = Word(b);
        Float x, y;
        std::memcpy(&x, &word_a, sizeof x);
        std::memcpy(&y, &word_b, sizeof y);
        const volatile Float z = x + y;
        const Float result = z;
        if (result != result) return (max_exponent << fraction_bits) | (fraction_mask + 1) >> 1;
        Word word;
        std::memcpy(&word, &result, sizeof word);
        return word;
    }
};

// All pairs of a tiny format: the table holds, for a in the outer and b in the inner loop, two bytes for each sum.
struct TableSource : Source {
    std::vector<uint16_t> sums;
    uint64_t numbers = 1, index = 0;

    explicit TableSource(const char *path) {
        FILE *file = std::fopen(path, "rb");
        if (!file) {
            std::perror(path);
            std::exit(2);
        }
        uint8_t entry[2];
        while (std::fread(entry, 1, 2, file) == 2) sums.push_back(uint16_t(entry[0] | entry[1] << 8));
        std::fclose(file);
        while (numbers * numbers < sums.size()) numbers *= 2;
    }
    uint64_t count() const override { return sums.size(); }
    Pair next() override {
        const uint64_t at = index++;
        return {at / numbers, at % numbers, sums[at]};
    }
};

struct Slot {
    bool valid;
    Pair pair;
};

constexpr unsigned history_slots = 32;  // more than the deepest adder
constexpr uint64_t printed_mismatches = 10;

struct Check {
    uint64_t cycle = 0, checked = 0, mismatches = 0;
    Slot history[history_slots] = {};

    // After clock edge `cycle`, an adder shows the sum of the operands that it took depth - 1 edges before.
    void look(unsigned depth, bool valid, uint64_t sum) {
        const Slot &slot = history[(cycle + history_slots - (depth - 1)) % history_slots];
        if (slot.valid) checked++;
        if (valid == slot.valid && (!valid || sum == slot.pair.sum)) return;
        if (mismatches++ < printed_mismatches) {
            std::fprintf(stderr, "depth %u: %016" PRIx64 " + %016" PRIx64 ": expected %d %016" PRIx64 ", got %d %016" PRIx64 "\n",
                         depth, slot.pair.a, slot.pair.b, slot.valid, slot.pair.sum, valid, sum);
        }
    }
};

}  // namespace

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const uint64_t pairs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    Source *source;
    if (mode == "float64" && argc == 4) {
        source = new HostSource<double, uint64_t, 11, 52>(pairs, seed);
    } else if (mode == "float32" && argc == 4) {
        source = new HostSource<float, uint32_t, 8, 23>(pairs, seed);
    } else if (mode == "table" && argc == 5) {
        source = new TableSource(argv[4]);
    } else {
        std::fprintf(stderr, "usage: %s float64|float32 PAIRS SEED | table 0 SEED PATH\n", argv[0]);
        return 2;
    }

    VerilatedContext context;
    Vbank bank(&context);
    Random idle{~seed};
    Check check;
    uint64_t sent = 0, n_depths = 0;
#define X(depth) n_depths++;
    DEPTHS
#undef X

    const auto start = std::chrono::steady_clock::now();
    bank.rst = 1;
    for (int edge = 0; edge < 4; edge++) {
        bank.clk = edge & 1;
        bank.eval();
    }
    bank.rst = 0;

    for (uint64_t flush = 0; flush < history_slots; check.cycle++) {
        Slot &slot = check.history[check.cycle % history_slots];
        slot.valid = false;
        if (sent == source->count()) {
            flush++;
        } else if (idle.next() % 16) {
            slot = {true, source->next()};
            sent++;
        }
        // Idle cycles carry operands too: nobody may take them for a pair.
        bank.i_valid = slot.valid;
        bank.i_a = slot.valid ? slot.pair.a : ~slot.pair.b;
        bank.i_b = slot.valid ? slot.pair.b : slot.pair.a;
        bank.clk = 0;
        bank.eval();
        bank.clk = 1;
        bank.eval();
#define X(depth) check.look(depth, bank.o_valid_##depth, bank.o_##depth);
        DEPTHS
#undef X
    }

    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"pairs\": %" PRIu64 ", \"depths\": %" PRIu64 ", \"checked\": %" PRIu64 ", \"mismatches\": %" PRIu64
                ", \"seed\": %" PRIu64 ", \"seconds\": %.2f}\n",
                sent, n_depths, check.checked, check.mismatches, seed, seconds);
    delete source;
    return check.mismatches || check.checked != sent * n_depths;
}
