// What goes wrong between a NIC and its host memory: accesses answered with an error, a host that is slow for a while; and
// a guard that notes every access outside of what has been registered.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace conic {

class MemoryFaults {
public:
    static constexpr uint8_t kOkay = 0;
    static constexpr uint8_t kDecodeError = 3;

    explicit MemoryFaults(uint64_t seed) : rng_(seed ^ 0x9e3779b97f4a7c15) {}

    // The first `count` bursts from cycle `from` on are answered with `code`.
    void fail(bool is_write, uint64_t from, uint64_t count, uint8_t code) {
        failures_.push_back({is_write, from, count, code});
    }
    // So is a share of all bursts.
    void fail_share(bool is_write, double share, uint8_t code) { shares_[is_write] = {share, code}; }
    // Answers that are asked for in these cycles come `extra` cycles later.
    void slow(uint64_t from, uint64_t until, uint64_t extra) { slow_.push_back({from, until, extra}); }
    // From the first call on, only memory [first, last) of all calls may be read, or written.
    void allow(bool is_write, uint64_t first, uint64_t last) {
        guarding_ = true;
        allowed_[is_write].push_back({first, last});
    }

    // What the burst is answered with that is asked for in cycle `now`.
    uint8_t answer(bool is_write, uint64_t now, uint64_t first, uint64_t bytes) {
        if (guarding_ && !is_allowed(is_write, first, bytes)) {
            if (foreign_++ == 0) first_foreign_ = first;
            return kDecodeError;
        }
        for (Failure& failure : failures_)
            if (failure.is_write == is_write && failure.from <= now && failure.left) {
                --failure.left;
                ++failed_[is_write];
                return failure.code;
            }
        const Share& share = shares_[is_write];
        if (share.share > 0 && static_cast<double>(rng_() >> 11) * 0x1.0p-53 < share.share) {
            ++failed_[is_write];
            return share.code;
        }
        return kOkay;
    }
    // Cycles by which its answer is late.
    uint64_t late(uint64_t now) {
        for (const Slow& slow : slow_)
            if (slow.from <= now && now < slow.until) {
                ++slowed_;
                return slow.extra;
            }
        return 0;
    }

    uint64_t failed(bool is_write) const { return failed_[is_write]; }
    uint64_t slowed() const { return slowed_; }
    uint64_t foreign() const { return foreign_; }
    uint64_t first_foreign() const { return first_foreign_; }

private:
    struct Failure {
        bool is_write;
        uint64_t from, left;
        uint8_t code;
    };
    struct Share {
        double share = 0;
        uint8_t code = kOkay;
    };
    struct Slow {
        uint64_t from, until, extra;
    };
    struct Range {
        uint64_t first, last;
    };

    bool is_allowed(bool is_write, uint64_t first, uint64_t bytes) const {
        for (const Range& range : allowed_[is_write])
            if (range.first <= first && first < range.last && range.last - first >= bytes) return true;
        return false;
    }

    std::vector<Failure> failures_;
    Share shares_[2];
    std::vector<Slow> slow_;
    std::vector<Range> allowed_[2];
    bool guarding_ = false;
    std::mt19937_64 rng_;
    uint64_t failed_[2] = {}, slowed_ = 0, foreign_ = 0, first_foreign_ = 0;
};

}  // namespace conic
