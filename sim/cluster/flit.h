// What travels on a link: flits one way, credits the other.
#pragma once

#include <cstdint>

#include "model.h"

namespace conic {

struct Flit {
    uint64_t at;  // cycle of its arrival
    bool last;
    uint8_t vc;
    uint8_t data[kMostFlitBytes];
};

struct Credit {
    uint64_t at;
    uint8_t vc;
};

}  // namespace conic
