// A wire of a reliable link that damages what passes: words with a bit changed, frames lost, doubled or delayed, and
// stretches of time in which nothing comes through.
//
// A frame is a run of data words with the control word behind it (docs/link.md).
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "flit.h"

namespace conic {

// Shares of all words (`mixed`, `flipped`) or of all frames.
struct WireRates {
    double mixed = 0;    // words that are lost, doubled, or have a bit or their kind changed
    double flipped = 0;  // words with one bit changed
    double lost = 0, doubled = 0, delayed = 0;
    uint64_t delay = 0;  // cycles by which a frame is delayed, and with it all that follows
};

enum class WireFault { kMixed, kFlipped, kLost, kDoubled, kDelayed, kCut, kCount };

class FaultyWire {
public:
    void seed(uint64_t seed) { rng_.seed(seed); }
    void set(const WireRates& rates) { rates_ = rates; }
    // From cycle `from` up to, without, `until` no word comes through.
    void cut(uint64_t from, uint64_t until) { cuts_.emplace_back(from, until); }
    void mend() { cuts_.clear(); }

    // Calls `send(word, later)` for every word that comes out of the wire, `later` cycles later than usual.
    template <class Send>
    void carry(uint64_t now, Flit word, unsigned bytes, Send send) {
        if (is_cut(now)) {
            ++count(WireFault::kCut);
            begins_ = word.last;
            fate_ = Fate::kPass;
            return;
        }
        uint64_t later = 0;
        if (begins_) later = begin_frame();
        begins_ = word.last;
        if (fate_ == Fate::kLost) return;
        if (fate_ == Fate::kDoubled) frame_.push_back(word);
        damage(word, bytes, later, send);
        if (fate_ != Fate::kDoubled || !begins_) return;
        for (const Flit& again : frame_) send(again, 0);
        frame_.clear();
    }

    uint64_t count(WireFault kind) const { return counts_[static_cast<size_t>(kind)]; }

private:
    enum class Fate { kPass, kLost, kDoubled };

    bool is_cut(uint64_t now) const {
        for (const auto& [from, until] : cuts_)
            if (from <= now && now < until) return true;
        return false;
    }

    // Draws what becomes of a frame; the cycles by which it is late.
    uint64_t begin_frame() {
        fate_ = Fate::kPass;
        frame_.clear();
        const double all = rates_.lost + rates_.doubled + rates_.delayed;
        const double drawn = all > 0 ? unit() : 1;
        if (drawn >= all) return 0;
        if (drawn < rates_.lost) {
            fate_ = Fate::kLost;
            ++count(WireFault::kLost);
        } else if (drawn < rates_.lost + rates_.doubled) {
            fate_ = Fate::kDoubled;
            ++count(WireFault::kDoubled);
        } else {
            ++count(WireFault::kDelayed);
            return rates_.delay;
        }
        return 0;
    }

    template <class Send>
    void damage(Flit& word, unsigned bytes, uint64_t later, Send send) {
        if (rates_.mixed > 0 && unit() < rates_.mixed) {
            ++count(WireFault::kMixed);
            switch (rng_() % 4) {
                case 0: return;
                case 1: send(word, later); break;
                case 2: word.last = !word.last; break;
                default: flip(word, bytes);
            }
        } else if (rates_.flipped > 0 && unit() < rates_.flipped) {
            ++count(WireFault::kFlipped);
            flip(word, bytes);
        }
        send(word, later);
    }

    void flip(Flit& word, unsigned bytes) {
        const uint64_t bit = rng_() % (8 * bytes);
        word.data[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }

    double unit() { return static_cast<double>(rng_() >> 11) * 0x1.0p-53; }
    uint64_t& count(WireFault kind) { return counts_[static_cast<size_t>(kind)]; }

    WireRates rates_;
    std::vector<std::pair<uint64_t, uint64_t>> cuts_;
    std::mt19937_64 rng_;
    std::array<uint64_t, static_cast<size_t>(WireFault::kCount)> counts_{};
    Fate fate_ = Fate::kPass;
    std::vector<Flit> frame_;
    bool begins_ = true;
};

}  // namespace conic
