#include "word.h"

#include <algorithm>
#include <utility>

namespace conic {

namespace {

// Clock edges in reset, and those between its end and cycle 0.
constexpr unsigned kResetEdges = 4, kFreeEdges = 3;

// Says who has broken the rule, and when.
template <class Body>
void blamed(const Station& station, uint64_t now, Body body) {
    try {
        body();
    } catch (const Fault& fault) {
        throw Fault(station.name() + " " + fault.what(), now);
    }
}

}  // namespace

void Word::reset() {
    for (const auto& [level, edges] : {std::pair{true, kResetEdges}, {false, kFreeEdges}}) {
        for (Station* station : stations_) station->reset(level);
        bank_->latch();
        for (unsigned edge = 0; edge < edges; ++edge) bank_->clock();
    }
}

void Word::evaluate() {
    bank_->step(static_cast<uint32_t>(skipped_));
    skipped_ = 0;
    evaluated_ += stations_.size();
}

void Word::catch_up() {
    if (!skipped_) return;
    --skipped_;  // the evaluation itself is one of them
    evaluate();
}

void Word::change_step(Parity parity) {
    catch_up();
    collect(parity);
    for (Station* station : stations_) station->forget_sleep();
}

// Its lane goes on, for the others do, but nobody looks at it any more.
void Word::stand_still(Station& station) {
    if (!station.is_frozen()) {
        catch_up();
        station.freeze();
    }
    station.stand_still();
}

void Word::cycle(uint64_t now, Parity parity, bool skip) {
    awake_.clear();
    bool still = skip;
    for (Station* station : stations_) {
        if (station->stopped(now)) {
            stand_still(*station);
        } else if (!station->asleep(now)) {
            station->wake();
            station->drive(now);
            still &= station->still();
            awake_.push_back(station);
        }
    }
    if (still) {
        for (Station* station : awake_)
            if (station->drives_something())
                blamed(*station, now, [] { throw Fault("says that it is quiescent, but drives something"); });
        ++skipped_;
    } else {
        for (Station* station : awake_) station->was_still = skip && station->still();
        evaluate();
    }
    for (Station* station : awake_) {
        station->transmit(now, parity);
        blamed(*station, now, [&] { station->step_beside(now); });
        if (still || station->was_still) station->fall_asleep(now + 1);
    }
}

void Word::advance(uint64_t from, uint64_t until, Parity parity, bool skip) {
    collect(parity ^ 1);
    for (Station* station : stations_)
        if (station->asleep(from)) station->fall_asleep(from);  // what has come may wake it earlier
    for (uint64_t now = from; now < until;) {
        const uint64_t wake = next_event();
        if (wake > now) {
            const uint64_t to = std::min(wake, until);
            skipped_ += to - now;
            now = to;
        } else {
            cycle(now, parity, skip);
            ++now;
        }
    }
}

uint64_t Word::next_event() const {
    uint64_t wake = UINT64_MAX;
    for (const Station* station : stations_) wake = std::min(wake, station->next_event());
    return wake;
}

void Word::clock(uint64_t now, Parity parity) {
    bank_->clock();
    evaluated_ += stations_.size();
    for (Station* station : stations_)
        if (!station->stopped(now)) station->transmit(now, parity);
}

void Word::collect(Parity parity) {
    for (Station* station : stations_) station->collect(parity);
}

void Word::latch(uint64_t now, bool check_boundary) {
    for (Station* station : stations_) {
        if (station->stopped(now)) {
            stand_still(*station);
            continue;
        }
        if (check_boundary) station->boundary.sample();
        station->drive(now);
    }
    bank_->latch();
    for (Station* station : stations_) {
        if (station->stopped(now)) continue;
        blamed(*station, now, [&] {
            if (check_boundary) station->boundary.check();
            station->step_beside(now);
        });
    }
}

}  // namespace conic
