// Drives a Verilated reduce unit with a random mix of all operations and compares every result with this machine's arithmetic.
//
// Arguments: requests, seed. Prints one JSON object. LANES is the number of lanes, as X(0) X(1) ...; the encodings come from
// the build as constants, from the one source that the hardware has them from.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "Vprobe.h"
#include "encodings.h"
#include "random_operands.h"
#include "verilated.h"

namespace {

#define X(lane) +1
constexpr unsigned n_lanes = 0 LANES;
#undef X
constexpr unsigned max_lanes = 8;
constexpr uint64_t printed_mismatches = 10;

struct Kind {
    unsigned datatype, op;
    bool operator<(const Kind &other) const { return datatype != other.datatype ? datatype < other.datatype : op < other.op; }
};

struct Request {
    unsigned select, tag;
    Kind kind;
    bool odd;
    uint64_t a[max_lanes], b[max_lanes], expected[max_lanes];
};

template <typename Operands>
bool first_of(uint64_t a, uint64_t b, bool minimum, bool &level) {  // whether a is taken; neither is a NaN
    const auto x = Operands::value(a), y = Operands::value(b);
    level = x == y;
    if (x == y) return minimum == bool(a & Operands::sign_bit);  // a zero with its sign, or the same number
    return minimum ? x < y : y < x;
}

template <typename Operands>
uint64_t float_result(unsigned op, uint64_t a, uint64_t b) {
    const auto x = Operands::value(a), y = Operands::value(b);
    if (op == SUM) {
        const volatile auto sum = x + y;
        return Operands::bits(sum);
    }
    if (op == PROD) {
        const volatile auto product = x * y;
        return Operands::bits(product);
    }
    bool level;
    if (x != x || y != y) return Operands::canonical_nan;
    return first_of<Operands>(a, b, op == MIN, level) ? a : b;
}

template <typename Signed, typename Unsigned>
uint64_t integer_result(unsigned op, bool is_signed, uint64_t a, uint64_t b) {
    const Unsigned x = Unsigned(a), y = Unsigned(b);
    const bool less = is_signed ? Signed(x) < Signed(y) : x < y;
    switch (op) {
        case SUM: return Unsigned(x + y);
        case MIN: return less ? x : y;
        case MAX: return less ? y : x;
        case PROD: return Unsigned(uint64_t(x) * uint64_t(y));
        case AND: return x & y;
        case OR: return x | y;
        default: return x ^ y;
    }
}

struct Generator {
    Random random;
    Doubles doubles{random};
    Singles singles{random};

    uint64_t integer() {
        const uint64_t bits = random.next();
        switch (random.below(4)) {
            case 0: return bits & ((uint64_t(1) << random.below(64)) - 1);
            case 1: return uint64_t(1) << random.below(64);
            case 2: return ~(bits & 3);
            default: return bits;
        }
    }

    void word(Kind kind, uint64_t &a, uint64_t &b, uint64_t &result) {
        const unsigned op = kind.op;
        switch (kind.datatype) {
            case FLOAT64:
                if (op == PROD) doubles.product_pair(a, b); else doubles.sum_pair(a, b);
                result = float_result<Doubles>(op, a, b);
                break;
            case FLOAT32: {
                uint64_t a_low, b_low, a_high, b_high;
                if (op == PROD) {
                    singles.product_pair(a_low, b_low);
                    singles.product_pair(a_high, b_high);
                } else {
                    singles.sum_pair(a_low, b_low);
                    singles.sum_pair(a_high, b_high);
                }
                a = a_low | a_high << 32;
                b = b_low | b_high << 32;
                result = float_result<Singles>(op, a_low, b_low) | float_result<Singles>(op, a_high, b_high) << 32;
                break;
            }
            case INT32:
                integers(a, b);
                result = integer_result<int32_t, uint32_t>(op, true, a, b) |
                         integer_result<int32_t, uint32_t>(op, true, a >> 32, b >> 32) << 32;
                break;
            default:
                integers(a, b);
                result = integer_result<int64_t, uint64_t>(op, kind.datatype == INT64, a, b);
        }
    }

    void integers(uint64_t &a, uint64_t &b) {
        a = integer();
        b = random.below(8) ? integer() : a;
    }

    // A double and its index; what stands beside the index means nothing.
    void located(unsigned op, uint64_t a[2], uint64_t b[2], uint64_t result[2]) {
        doubles.sum_pair(a[0], b[0]);
        if (random.below(3) == 0) b[0] = a[0];
        integers(a[1], b[1]);
        const double x = Doubles::value(a[0]), y = Doubles::value(b[0]);
        const int32_t i = int32_t(a[1]), j = int32_t(b[1]);
        int32_t index;
        if (x != x || y != y) {
            result[0] = Doubles::canonical_nan;
            index = x == x ? j : y == y ? i : std::min(i, j);
        } else {
            bool level;
            const bool take = first_of<Doubles>(a[0], b[0], op == MINLOC, level);
            result[0] = take ? a[0] : b[0];
            index = level ? std::min(i, j) : take ? i : j;
        }
        result[1] = uint32_t(index);
    }
};

struct Fifo {
    Generator generator;
    std::deque<Request> made;
    std::map<Kind, uint64_t> elements;

    // One request, or two where an element takes two of them.
    void make() {
        Request request{};
        const auto &operation = operations[generator.random.below(sizeof operations / sizeof *operations)];
        request.kind = {operation[0], operation[1]};
        request.select = generator.random.below(8) ? COMBINE : generator.random.below(2);
        request.tag = generator.random.next() & 0xffff;
        if (request.kind.datatype == DOUBLE_INT) {
            Request second = request;
            second.odd = true;
            second.tag = generator.random.next() & 0xffff;
            for (unsigned lane = 0; lane < std::max(1u, n_lanes); lane += 2) {
                uint64_t a[2], b[2], result[2];
                generator.located(request.kind.op, a, b, result);
                Request &upper = n_lanes == 1 ? second : request;
                const unsigned upper_lane = n_lanes == 1 ? 0 : lane + 1;
                request.a[lane] = a[0], request.b[lane] = b[0], request.expected[lane] = result[0];
                upper.a[upper_lane] = a[1], upper.b[upper_lane] = b[1], upper.expected[upper_lane] = result[1];
            }
            elements[request.kind] += request.select == COMBINE ? std::max(1u, n_lanes / 2) : 0;
            push(request);
            if (n_lanes == 1) push(second);
            return;
        }
        for (unsigned lane = 0; lane < n_lanes; lane++) {
            generator.word(request.kind, request.a[lane], request.b[lane], request.expected[lane]);
        }
        const unsigned elements_of_word = request.kind.datatype == FLOAT32 || request.kind.datatype == INT32 ? 2 : 1;
        elements[request.kind] += request.select == COMBINE ? n_lanes * elements_of_word : 0;
        push(request);
    }

    void push(Request &request) {
        if (request.select != COMBINE) {
            std::copy_n(request.select ? request.b : request.a, n_lanes, request.expected);
        }
        made.push_back(request);
    }
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s REQUESTS SEED\n", argv[0]);
        return 2;
    }
    const uint64_t requests = std::strtoull(argv[1], nullptr, 10);
    const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    VerilatedContext context;
    Vprobe probe(&context);
    Fifo fifo{{{seed}}};
    Random pauses{~seed};
    std::deque<Request> expected;
    uint64_t sent = 0, checked = 0, mismatches = 0, idle = 0, stall = 0;

    const auto start = std::chrono::steady_clock::now();
    probe.i_valid = 0;
    probe.o_ready = 0;
    probe.rst = 1;
    for (int edge = 0; edge < 4; edge++) {
        probe.clk = edge & 1;
        probe.eval();
    }
    probe.rst = 0;

    bool offered = false;
    uint64_t quiet = 0;
    while (checked < sent || sent < requests) {
        // Pauses of both sides come in stretches, so that the unit runs full and runs dry.
        if (idle) idle--; else if (pauses.below(64) == 0) idle = pauses.below(40);
        if (stall) stall--; else if (pauses.below(64) == 0) stall = pauses.below(40);
        if (!offered && !idle && sent < requests) {
            if (fifo.made.empty()) fifo.make();
            const Request &next = fifo.made.front();
            probe.i_select = next.select;
            probe.i_datatype = next.kind.datatype;
            probe.i_operator = next.kind.op;
            probe.i_odd = next.odd;
            probe.i_tag = next.tag;
#define X(lane) probe.i_a_##lane = next.a[lane]; probe.i_b_##lane = next.b[lane];
            LANES
#undef X
            offered = true;
        }
        probe.i_valid = offered;
        probe.o_ready = !stall;
        probe.clk = 0;
        probe.eval();
        if (probe.o_valid && probe.o_ready) {
            quiet = 0;
            bool wrong = expected.empty();
            if (!wrong) {
                const Request &want = expected.front();
                wrong = probe.o_tag != want.tag;
#define X(lane) wrong |= probe.o_##lane != want.expected[lane];
                LANES
#undef X
                if (wrong && mismatches < printed_mismatches) {
                    std::fprintf(stderr, "datatype %u operator %u select %u odd %d tag %04x, got tag %04x", want.kind.datatype,
                                 want.kind.op, want.select, want.odd, want.tag, unsigned(probe.o_tag));
#define X(lane) std::fprintf(stderr, "; %016" PRIx64 " %016" PRIx64 ": expected %016" PRIx64 ", got %016" PRIx64, want.a[lane], \
                             want.b[lane], want.expected[lane], uint64_t(probe.o_##lane));
                    LANES
#undef X
                    std::fputc('\n', stderr);
                }
                expected.pop_front();
            }
            mismatches += wrong;
            checked++;
        } else if (++quiet > 1000) {
            std::fprintf(stderr, "no result for 1000 cycles, %zu under way\n", expected.size());
            return 1;
        }
        if (offered && probe.i_ready) {
            expected.push_back(fifo.made.front());
            fifo.made.pop_front();
            offered = false;
            sent++;
        }
        probe.clk = 1;
        probe.eval();
    }

    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"requests\": %" PRIu64 ", \"checked\": %" PRIu64 ", \"mismatches\": %" PRIu64 ", \"seed\": %" PRIu64
                ", \"seconds\": %.2f, \"elements\": [", sent, checked, mismatches, seed, seconds);
    const char *comma = "";
    for (const auto &[kind, count] : fifo.elements) {
        std::printf("%s[%u, %u, %" PRIu64 "]", comma, kind.datatype, kind.op, count);
        comma = ", ";
    }
    std::printf("]}\n");
    return mismatches || checked != sent;
}
