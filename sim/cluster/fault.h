// What ends a simulation: hardware that breaks a rule of its boundary. The Python side raises it as `SimulationFaultError`.
#pragma once

#include <stdexcept>

namespace conic {

struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace conic
