// What ends a simulation: hardware that breaks a rule of its boundary. The Python side raises it as `SimulationFaultError`.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace conic {

struct Fault : std::runtime_error {
    explicit Fault(const std::string& what, uint64_t cycle = 0) : std::runtime_error(what), cycle(cycle) {}

    uint64_t cycle;
};

}  // namespace conic
