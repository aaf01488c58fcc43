// A design of the tests in the lanes of words, driven from standard input (conftest.py): what a cluster does to its models.
//
// `driver ports` prints name, width, whether it is an output, place and bytes of every port, a line each. `driver run SEED...`
// reads, for each cycle, a byte and the pins of the inputs of each lane; it writes the pins of the outputs of each lane
// before the clock edge. The byte says how the edge comes: 0 by latch and clock, 1 by step, 2 likewise, with another latch
// of the same inputs before, 3 by step, but not at all if all nodes say that they are still. Assertions that fail go to
// standard error: lane, cycles before, text; `driver run` ends with a line that says how many edges were left out.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "design.h"
#include "model.h"

#define NAMED_(lanes) make_bank_of_##lanes
#define NAMED(lanes) NAMED_(lanes)

namespace conic::lanes {
extern const Design checked_design;
std::unique_ptr<Bank> NAMED(LANES)(const Design&, const std::vector<Born>&);
}  // namespace conic::lanes

using conic::lanes::checked_design;

int main(int count, char** arguments) {
    const conic::lanes::Design& design = checked_design;
    if (std::string(arguments[1]) == "ports") {
        std::printf("%u %u\n", design.input_bytes, design.pin_bytes);
        for (unsigned n = 0; n < design.n_ports; ++n) {
            const conic::lanes::PortCode& port = design.ports[n];
            std::printf("%s %u %u %u %u\n", port.name, port.width, port.is_output, port.pin, port.pin_bytes);
        }
        return 0;
    }
    std::vector<conic::Born> born;
    for (int n = 2; n < count; ++n) born.push_back({"node " + std::to_string(n - 2), std::strtoull(arguments[n], nullptr, 0)});
    const auto bank = conic::lanes::NAMED(LANES)(design, born);
    const unsigned n_lanes = bank->size();
    // The pins of a lane stand together, inputs first; an output says where that is.
    std::vector<char*> pins;
    for (unsigned lane = 0; lane < n_lanes; ++lane)
        pins.push_back(const_cast<char*>(static_cast<const char*>(bank->model(lane).outputs[0].at)) -
                       design.ports[design.n_inputs].pin);
    std::vector<bool> failed(n_lanes);
    std::vector<char> pending(design.input_bytes * n_lanes);
    bool is_first = true, by_step = false;
    unsigned long skipped = 0, left_out = 0;
    for (unsigned long cycle = 0;; ++cycle) {
        const int how = std::getchar();
        if (how == EOF || std::fread(pending.data(), 1, pending.size(), stdin) != pending.size()) {
            std::fprintf(stderr, "left out: %lu\n", left_out);
            return how != EOF;
        }
        for (unsigned lane = 0; lane < n_lanes; ++lane)
            std::memcpy(pins[lane], pending.data() + std::size_t{lane} * design.input_bytes, design.input_bytes);
        bool still = how == 3;
        for (unsigned lane = 0; lane < n_lanes; ++lane) still &= bank->model(lane).still();
        if (still) {
            ++skipped;
            ++left_out;
        } else if (by_step) {
            bank->step(skipped);
            skipped = 0;
            if (how == 2) bank->latch();
        } else {
            if (!is_first) bank->clock();
            bank->latch();
        }
        for (unsigned lane = 0; lane < n_lanes; ++lane)
            std::fwrite(pins[lane] + design.input_bytes, 1, design.pin_bytes - design.input_bytes, stdout);
        for (unsigned lane = 0; lane < n_lanes; ++lane)
            if (const char* text = bank->model(lane).failed(); text && !failed[lane]) {
                failed[lane] = true;
                std::fprintf(stderr, "%u %lu %s\n", lane, cycle, text);
            }
        is_first = false;
        by_step = how != 0;
    }
}
