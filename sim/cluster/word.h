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

// Holds reset at the models of a bank for some cycles, and lets it go some before cycle 0. `driven` is called when their
// stations have driven the inputs.
template <class Driven>
void reset_word(Bank& bank, const std::vector<Station*>& stations, Driven driven) {
    // Clock edges in reset, and those between its end and cycle 0.
    constexpr unsigned kResetEdges = 4, kFreeEdges = 3;
    for (const auto& [level, edges] : {std::pair{true, kResetEdges}, {false, kFreeEdges}}) {
        for (Station* station : stations) station->reset(level);
        driven();
        bank.latch();
        for (unsigned edge = 0; edge < edges; ++edge) bank.clock();
    }
}

class Word {
public:
    explicit Word(std::unique_ptr<Bank> bank) : bank_(std::move(bank)) {}

    Bank& bank() { return *bank_; }
    // The station of the next lane.
    void add(Station& station) { stations_.push_back(&station); }
    void remove(const Station& station) { std::erase(stations_, &station); }
    const std::vector<Station*>& stations() const { return stations_; }

    void reset() { reset_word(*bank_, stations_, [] {}); }

    // Carries out so many cycles of all stations, whose windows have begun. With `skip`, cycles in which nothing can change
    // are not evaluated. Faults are left with the stations that they are found at.
    void advance(uint64_t count, bool skip);

    // One cycle in parts, for words in lockstep, where what is sent in a cycle may arrive in it: everybody does the first
    // part, then everybody the second, and so on. They throw Fault.
    void clock(uint64_t now, Parity parity);
    void collect(Parity parity);
    void latch(uint64_t now, bool check_boundary);

    // In how many cycles something happens here by itself; UINT64_MAX: not before something comes.
    uint64_t until_next_event() const;
    // Evaluates what has been skipped, so that models can be looked at.
    void catch_up();
    // From the next cycle on it keeps step with the others, or goes ahead again.
    void change_step(Parity parity);

private:
    void cycle(bool skip);
    void evaluate();
    void stand_still(Station& station);

    std::unique_ptr<Bank> bank_;
    std::vector<Station*> stations_;
    std::vector<Station*> awake_;  // of the cycle that is being carried out
    uint64_t skipped_ = 0;         // cycles that the models are behind
};

}  // namespace conic
