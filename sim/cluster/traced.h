// What every Verilated class can be asked, so that waveforms take models of several classes.
#pragma once

namespace conic {

class Traced {
public:
    virtual ~Traced() = default;
    virtual void trace(void* waves) = 0;
};

}  // namespace conic
