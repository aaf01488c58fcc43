// Drives a Verilated bank of adders or multipliers as fast as it goes and compares every result, in its cycle.
//
// Arguments: float64, float32 or table; add or multiply; pairs; seed; with table its path. The expected results are those of
// this machine's own arithmetic, or come from a table of all pairs of a tiny format. Prints one JSON object.
//
// DEPTHS, from the build, is a list X(5) X(6) ... of the units in the bank.

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "Vbank.h"
#include "depths.h"
#include "random_operands.h"
#include "verilated.h"

namespace {

struct Pair {
    uint64_t a, b, result;
};

struct Source {
    virtual ~Source() = default;
    virtual uint64_t count() const = 0;
    virtual Pair next() = 0;
};

template <typename Operands>
struct HostSource : Source {
    bool multiplies;
    uint64_t pairs;
    Random random;
    Operands operands{random};

    HostSource(bool multiplies, uint64_t pairs, uint64_t seed) : multiplies(multiplies), pairs(pairs), random{seed} {}
    uint64_t count() const override { return pairs; }

    Pair next() override {
        uint64_t a, b;
        if (multiplies) operands.product_pair(a, b); else operands.sum_pair(a, b);
        const auto x = Operands::value(a), y = Operands::value(b);
        const volatile auto result = multiplies ? x * y : x + y;
        return {a, b, Operands::bits(result)};
    }
};

// All pairs of a tiny format: the table holds, for a in the outer and b in the inner loop, two bytes for each result.
struct TableSource : Source {
    std::vector<uint16_t> results;
    uint64_t numbers = 1, index = 0;

    explicit TableSource(const char *path) {
        FILE *file = std::fopen(path, "rb");
        if (!file) {
            std::perror(path);
            std::exit(2);
        }
        uint8_t entry[2];
        while (std::fread(entry, 1, 2, file) == 2) results.push_back(uint16_t(entry[0] | entry[1] << 8));
        std::fclose(file);
        while (numbers * numbers < results.size()) numbers *= 2;
    }
    uint64_t count() const override { return results.size(); }
    Pair next() override {
        const uint64_t at = index++;
        return {at / numbers, at % numbers, results[at]};
    }
};

struct Slot {
    bool valid;
    Pair pair;
};

constexpr unsigned history_slots = 32;  // more than the deepest unit
constexpr uint64_t printed_mismatches = 10;

struct Check {
    uint64_t cycle = 0, checked = 0, mismatches = 0;
    Slot history[history_slots] = {};

    // After clock edge `cycle`, a unit shows the result of the operands that it took depth - 1 edges before.
    void look(unsigned depth, bool valid, uint64_t result) {
        const Slot &slot = history[(cycle + history_slots - (depth - 1)) % history_slots];
        if (slot.valid) checked++;
        if (valid == slot.valid && (!valid || result == slot.pair.result)) return;
        if (mismatches++ < printed_mismatches) {
            std::fprintf(stderr, "depth %u: %016" PRIx64 " and %016" PRIx64 ": expected %d %016" PRIx64 ", got %d %016" PRIx64 "\n",
                         depth, slot.pair.a, slot.pair.b, slot.valid, slot.pair.result, valid, result);
        }
    }
};

}  // namespace

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "", does = argc > 2 ? argv[2] : "";
    const bool multiplies = does == "multiply";
    const uint64_t pairs = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    const uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
    Source *source;
    if (mode == "float64" && argc == 5) {
        source = new HostSource<Doubles>(multiplies, pairs, seed);
    } else if (mode == "float32" && argc == 5) {
        source = new HostSource<Singles>(multiplies, pairs, seed);
    } else if (mode == "table" && argc == 6) {
        source = new TableSource(argv[5]);
    } else {
        std::fprintf(stderr, "usage: %s float64|float32|table add|multiply PAIRS SEED [PATH]\n", argv[0]);
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
