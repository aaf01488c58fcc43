// Events in order: a binary heap of numbers, each a time and what happens then. Nothing that happens at one instant is
// told apart by when it was put in, so the order of events is that of the numbers.
#pragma once

#include "state.h"

namespace conic::congestion {

// A port has sent its packet; one comes in from the port's wire; a host may send; a flow begins. The number of an event
// is that of its port times 4, and this; flows count on from the ports.
enum EventKind : int64_t { kPortFree, kArrival, kWake, kStart };

inline void push(State& state, int64_t time, int64_t event) {
    Tally& tally = state.tally[0];
    const int64_t key = (time << kEventBits) | event;
    int64_t place = tally.n_heap++;
    while (place > 0) {
        const int64_t above = (place - 1) >> 1;
        if (state.heap[above] <= key) break;
        state.heap[place] = state.heap[above];
        place = above;
    }
    state.heap[place] = key;
}

// Takes out the first event; there must be one.
inline int64_t pop(State& state) {
    Tally& tally = state.tally[0];
    const int64_t first = state.heap[0];
    const int64_t n = --tally.n_heap;
    const int64_t key = state.heap[n];
    int64_t place = 0;
    for (int64_t below = 1; below < n; below = 2 * place + 1) {
        if (below + 1 < n && state.heap[below + 1] < state.heap[below]) ++below;
        if (state.heap[below] >= key) break;
        state.heap[place] = state.heap[below];
        place = below;
    }
    state.heap[place] = key;
    return first;
}

}  // namespace conic::congestion
