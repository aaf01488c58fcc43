#include "pack.h"

#include <algorithm>
#include <string>

#include "fault.h"

namespace conic {

Pack::Pack(uint32_t nodes, uint32_t clusters) : nodes_(nodes), places_(clusters) {
    if (!nodes || !clusters || uint64_t{nodes} * clusters > kNicLanes)
        throw Fault(std::to_string(clusters) + " clusters of " + std::to_string(nodes) + " nodes side by side: a word has " +
                    std::to_string(kNicLanes) + " lanes");
    word_ = std::make_unique<Word>(make_nics(std::vector<Born>(nodes * clusters), nullptr));
}

uint32_t Pack::join() {
    const std::lock_guard lock(mutex_);
    const auto free = std::find_if(places_.begin(), places_.end(), [](const Place& place) { return !place.taken; });
    if (free == places_.end()) throw Fault("no lanes are left for another cluster side by side");
    free->taken = true;
    return static_cast<uint32_t>(free - places_.begin());
}

void Pack::reset(uint32_t place, const std::vector<Station*>& stations, const std::vector<Born>& born) {
    const std::lock_guard lock(mutex_);
    Bank& bank = word_->bank();
    const unsigned first = place * nodes_;
    const std::unique_ptr<Bank> alone = make_nics(born, nullptr);
    reset_word(*alone, stations, [&] {
        for (unsigned n = 0; n < nodes_; ++n) alone->copy_inputs(n, bank, first + n);
    });
    word_->catch_up();
    for (unsigned n = 0; n < nodes_; ++n) bank.adopt(first + n, *alone, n);
    for (Station* station : stations) word_->add(*station);
    places_[place].stations = stations;
    places_[place].live = true;
}

void Pack::leave(uint32_t place) {
    const std::lock_guard lock(mutex_);
    for (const Station* station : places_[place].stations) word_->remove(*station);
    for (unsigned n = 0; n < nodes_; ++n) word_->bank().retire(place * nodes_ + n);
    places_[place] = {};
    changed_.notify_all();
}

void Pack::catch_up() {
    const std::lock_guard lock(mutex_);
    word_->catch_up();
}

void Pack::carry_out(uint32_t number, Beside& cluster, const Task& task) {
    std::unique_lock lock(mutex_);
    Place& own = places_[number];
    own.cluster = &cluster;
    own.task = &task;
    own.error = nullptr;
    while (own.task) {
        const bool all_wait = std::all_of(places_.begin(), places_.end(), [](const Place& place) {
            return !place.live || place.task;
        });
        if (all_wait)
            go_ahead();
        else
            changed_.wait(lock);
    }
    if (own.error) std::rethrow_exception(own.error);
}

// Until one of the clusters has what it wants.
void Pack::go_ahead() {
    for (;;) {
        bool some_done = false;
        uint64_t count = UINT64_MAX;
        for (Place& place : places_) {
            if (!place.live) continue;
            some_done |= move(place);
            count = std::min(count, place.left);
        }
        if (some_done) break;
        word_->advance(count, true);
        for (Place& place : places_)
            if (place.live) place.left -= count;
    }
    changed_.notify_all();
}

// Ends the window of a cluster that has none of it left, and begins the next one. Returns whether it has what it wants.
bool Pack::move(Place& place) {
    if (place.left) return false;
    try {
        if (place.in_window) {
            place.in_window = false;
            place.cluster->end_window();
        }
        if (!place.task->done() && place.cluster->now() < place.task->end) {
            place.left = place.cluster->begin_window(place.task->end - place.cluster->now());
            place.in_window = true;
            return false;
        }
    } catch (...) {
        place.error = std::current_exception();
    }
    place.task = nullptr;
    return true;
}

}  // namespace conic
