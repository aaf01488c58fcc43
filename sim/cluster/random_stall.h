// Random stalls that repeat exactly: every source of randomness has a generator of its own.
#pragma once

#include <cstdint>
#include <random>

namespace conic {

// Says, cycle by cycle, whether to pause. Stretches of full speed, of rare pauses and of near standstill alternate, so that
// one run sees buffers run empty, run full and flow without a gap.
class RandomStall {
public:
    RandomStall(uint64_t seed, double intensity) : rng_(seed), intensity_(intensity) {}

    bool pause() {
        if (intensity_ <= 0) return false;
        if (left_ == 0) {
            static const double rates[] = {0.0, 0.0, 0.1, 0.5, 0.9};
            rate_ = intensity_ * rates[rng_() % 5];
            left_ = 1 + rng_() % 64;
        }
        --left_;
        return rate_ > 0 && unit() < rate_;
    }

    // A random number of cycles up to `most`.
    uint64_t delay(uint64_t most) { return most ? rng_() % (most + 1) : 0; }

    double unit() { return static_cast<double>(rng_() >> 11) * 0x1.0p-53; }

private:
    std::mt19937_64 rng_;
    double intensity_;
    double rate_ = 0;
    uint64_t left_ = 0;
};

}  // namespace conic
