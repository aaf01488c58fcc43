// All outputs of a model, to see that they come from registers: taking inputs must not change them. That is what makes
// models that are evaluated apart equal to one flat design (docs/cluster.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fault.h"
#include "model.h"

namespace conic {

class Boundary {
public:
    explicit Boundary(const std::vector<OutputPin>& outputs) : outputs_(outputs) {
        for (const OutputPin& output : outputs_) bytes_ += output.bytes;
        before_.resize(bytes_);
    }

    // Before inputs are taken.
    void sample() {
        size_t at = 0;
        for (const OutputPin& output : outputs_) {
            std::memcpy(&before_[at], output.at, output.bytes);
            at += output.bytes;
        }
    }

    // After they have been, and have settled, before the clock edge. Throws Fault.
    void check() const {
        size_t at = 0;
        for (const OutputPin& output : outputs_) {
            if (std::memcmp(&before_[at], output.at, output.bytes))
                throw Fault(std::string(output.name) + ": an output follows an input within a cycle");
            at += output.bytes;
        }
    }

private:
    std::vector<OutputPin> outputs_;
    size_t bytes_ = 0;
    std::vector<uint8_t> before_;
};

}  // namespace conic
