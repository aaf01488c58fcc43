#include "word.h"

#include <algorithm>

namespace conic {

void Word::evaluate() {
    bank_->step(skipped_);
    skipped_ = 0;
    for (Station* station : stations_) ++station->evaluated;
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

void Word::cycle(bool skip) {
    awake_.clear();
    bool still = skip;
    for (Station* station : stations_) {
        const uint64_t now = station->now();
        if (station->asleep(now)) continue;
        if (station->stopped(now)) {
            stand_still(*station);
        } else {
            station->wake();
            station->guarded([&] { station->drive(now); });
            station->was_still = skip && station->still();
            still &= station->was_still;
            awake_.push_back(station);
        }
    }
    if (still)
        ++skipped_;
    else
        evaluate();
    for (Station* station : awake_)
        station->guarded([&] {
            const uint64_t now = station->now();
            station->transmit(now);
            station->step_beside(now);
            if (station->was_still) station->fall_asleep(now + 1);
        });
    for (Station* station : stations_) station->pass(1);
}

void Word::advance(uint64_t count, bool skip) {
    while (count) {
        const uint64_t sleep = std::min(until_next_event(), count);
        if (sleep) {
            skipped_ += sleep;
            for (Station* station : stations_) station->pass(sleep);
            count -= sleep;
        } else {
            cycle(skip);
            --count;
        }
    }
}

uint64_t Word::until_next_event() const {
    uint64_t wait = UINT64_MAX;
    for (const Station* station : stations_) {
        const uint64_t at = station->next_event();
        if (at <= station->now()) return 0;
        if (at != UINT64_MAX) wait = std::min(wait, at - station->now());
    }
    return wait;
}

void Word::clock(uint64_t now, Parity parity) {
    bank_->clock();
    for (Station* station : stations_) ++station->evaluated;
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
        station->set_now(now);
        station->guarded([&] {
            if (check_boundary) station->boundary.check();
            station->step_beside(now);
        });
    }
}

}  // namespace conic
