// Stations whose models get their clock edges together: those of a word's lanes, or one alone.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fault.h"
#include "model.h"
#include "station.h"

namespace conic {

class Word {
public:
    explicit Word(std::unique_ptr<Bank> bank) : bank_(std::move(bank)) {}

    Bank& bank() { return *bank_; }
    // The station of the next lane.
    void add(Station& station) { stations_.push_back(&station); }
    const std::vector<Station*>& stations() const { return stations_; }

    // Holds reset for some cycles, and lets it go some before cycle 0.
    void reset();

    // Carries out the cycles from `from` up to, without, `until`: posts under `parity`, having collected what was posted
    // under the other one. With `skip`, cycles in which nothing can change are not evaluated. Throws Fault.
    void advance(uint64_t from, uint64_t until, Parity parity, bool skip);

    // One cycle in parts, for words in lockstep, where what is sent in a cycle may arrive in it: everybody does the first
    // part, then everybody the second, and so on. They throw Fault.
    void clock(uint64_t now, Parity parity);
    void collect(Parity parity);
    void latch(uint64_t now, bool check_boundary);

    // The cycle from which on something happens here by itself; UINT64_MAX: not before something comes.
    uint64_t next_event() const;
    // Evaluates what has been skipped, so that models can be looked at.
    void catch_up();
    // From the next cycle on it keeps step with the others, or goes ahead again.
    void change_step(Parity parity);

    uint64_t evaluated() const { return evaluated_; }

private:
    void cycle(uint64_t now, Parity parity, bool skip);
    void evaluate();
    void stand_still(Station& station);

    std::unique_ptr<Bank> bank_;
    std::vector<Station*> stations_;
    std::vector<Station*> awake_;  // of the cycle that is being carried out
    uint64_t skipped_ = 0;         // cycles that the models are behind
    uint64_t evaluated_ = 0;       // cycles in which a model was evaluated
};

}  // namespace conic
