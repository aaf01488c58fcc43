// Runs pairs of operands through a Verilated unit of arithmetic, as fast as it goes.
//
// Standard input: a count (8 bytes), then as many pairs (8 bytes each operand); and again, until a count of 0. Standard output:
// the results, 8 bytes each, after each batch. All little-endian, as this machine stores them.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "Vunit.h"
#include "verilated.h"

namespace {

constexpr uint64_t longest_pipeline = 64;

bool read_exactly(void *to, size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

}  // namespace

int main() {
    VerilatedContext context;
    Vunit unit(&context);
    unit.i_valid = 0;
    unit.rst = 1;
    for (int edge = 0; edge < 4; edge++) {
        unit.clk = edge & 1;
        unit.eval();
    }
    unit.rst = 0;

    uint64_t count = 0;
    std::vector<uint64_t> operands, results;
    while (read_exactly(&count, sizeof count) && count) {
        operands.resize(2 * count);
        if (!read_exactly(operands.data(), operands.size() * sizeof operands[0])) {
            std::fprintf(stderr, "standard input ended within a batch\n");
            return 2;
        }
        results.clear();
        for (uint64_t cycle = 0; results.size() < count; cycle++) {
            if (cycle == count + longest_pipeline) {
                std::fprintf(stderr, "%zu of %zu results after %zu cycles\n", results.size(), size_t(count), size_t(cycle));
                return 1;
            }
            unit.i_valid = cycle < count;
            if (cycle < count) {
                unit.i_a = operands[2 * cycle];
                unit.i_b = operands[2 * cycle + 1];
            }
            unit.clk = 0;
            unit.eval();
            unit.clk = 1;
            unit.eval();
            if (unit.o_valid) results.push_back(unit.o);
        }
        if (std::fwrite(results.data(), sizeof results[0], results.size(), stdout) != results.size()) return 1;
        std::fflush(stdout);
    }
    return 0;
}
