// NICs of several clusters in one word: runs side by side.
//
// Clusters know nothing of each other, and each has a time and a thread of its own. Whoever has cycles to carry out waits
// until all the others have too; then one of the threads carries out the windows of all of them, until one has what it
// wanted and goes on. So what a run does is what it does alone, to the bit and to the cycle.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "model.h"
#include "station.h"
#include "word.h"

namespace conic {

// What a cluster wants: cycles up to `end`, in windows, until `done`.
struct Task {
    std::function<bool()> done;
    uint64_t end;
};

// What a pack asks of a cluster.
class Beside {
public:
    virtual ~Beside() = default;
    virtual uint64_t now() const = 0;
    // Begins a window of at most so many cycles, and carries it out at all stations but NICs; returns its length.
    virtual uint64_t begin_window(uint64_t cycles) = 0;
    // Ends it. Throws Fault.
    virtual void end_window() = 0;
};

class Pack {
public:
    // A word for so many clusters at once, with so many NICs each. Throws Fault if there are not so many lanes.
    Pack(uint32_t nodes, uint32_t clusters);

    uint32_t nodes() const { return nodes_; }

    // A place for another cluster; its NICs are the models of these lanes. Throws Fault if there is none left.
    uint32_t join();
    Model& model(uint32_t place, uint32_t node) { return word_->bank().model(place * nodes_ + node); }
    // Gives the NICs of a place the values that they begin with, and holds reset, as for a word of their own. From then on
    // the others wait for this cluster.
    void reset(uint32_t place, const std::vector<Station*>& stations, const std::vector<Born>& born);
    void leave(uint32_t place);

    // Carries out what the cluster of a place wants. Throws Fault.
    void carry_out(uint32_t place, Beside& cluster, const Task& task);
    // Evaluates what has been skipped, so that models can be looked at.
    void catch_up();

private:
    struct Place {
        bool taken = false, live = false;
        Beside* cluster = nullptr;
        const Task* task = nullptr;  // null: it goes on by itself
        bool in_window = false;
        uint64_t left = 0;           // cycles of its window that are to come
        std::exception_ptr error;
        std::vector<Station*> stations;
    };

    void go_ahead();
    bool move(Place& place);

    uint32_t nodes_;
    std::unique_ptr<Word> word_;
    std::vector<Place> places_;
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace conic
