// The event loop, and the C interface that library.py loads.
#include "host.h"
#include "switch.h"

using namespace conic::congestion;

namespace {

constexpr int64_t kSpare = 8;  // more packets, or frames of PFC, than one event takes

// Has port `p` send if it is free and has what it may send; if it is not free, it looks again when it is.
void try_to_send(State& state, int64_t p) {
    Port& port = state.ports[p];
    if (state.tally[0].now < port.busy_until) {
        expect_free(state, p);
        return;
    }
    int64_t place = dequeue(state, port);
    if (place != kNone) {
        if (port.is_switch) leave(state, p, place);
    } else if (!port.is_switch && !port.is_paused) {
        place = next_packet(state, port.node);
    }
    if (place == kNone) return;
    transmit(state, p, place);
    if (port.control != kNone || port.data != kNone || !port.is_switch) expect_free(state, p);
}

// A frame of PFC came in at port `p`.
void take_pfc(State& state, int64_t p, int kind) {
    Port& port = state.ports[p];
    Tally& tally = state.tally[0];
    state.pfc[tally.n_pfc++] = {tally.now, p, kind == kPause};
    if (kind == kPause) {
        port.is_paused = true;
        port.paused_since = tally.now;
        return;
    }
    port.is_paused = false;
    port.paused += tally.now - port.paused_since;
    try_to_send(state, p);
}

// A packet comes out of the wire of a port, into the peer of that port.
void take_arrival(State& state, int64_t wire) {
    const int64_t place = arrive(state, wire);
    const int64_t p = state.ports[wire].peer;
    Port& port = state.ports[p];
    const int kind = state.packets[place].kind;
    if (kind >= kPause) {
        give_back(state, place);
        take_pfc(state, p, kind);
    } else if (port.is_switch) {
        const int64_t out = come_in(state, p, place);
        if (out != kNone) try_to_send(state, out);
    } else {
        if (kind == kData) {
            receive_data(state, place);
            enqueue(state, port, place);
        } else {
            receive_ack(state, place);
        }
        try_to_send(state, p);
    }
}

void take_event(State& state, int64_t event) {
    const int64_t kind = event & 3, p = event >> 2;
    if (kind == kPortFree) {
        state.ports[p].is_expected = false;
        try_to_send(state, p);
    } else if (kind == kArrival) {
        take_arrival(state, p);
    } else if (kind == kWake) {
        Node& node = state.nodes[state.ports[p].node];
        if (node.wake_at == state.tally[0].now) {
            node.wake_at = kNever;
            try_to_send(state, p);
        }
    } else {
        try_to_send(state, begin(state, p - state.ports.size));
    }
}

}  // namespace

extern "C" {

// Goes on for at most so many events, and says why it stopped.
int conic_congestion_run(State* state_of, int64_t n_events) {
    State& state = *state_of;
    Tally& tally = state.tally[0];
    for (int64_t i = 0; i < n_events; ++i) {
        if (tally.n_free < kSpare) return kNeedsPackets;
        if (tally.n_pfc + kSpare > state.pfc.size) return kNeedsLog;
        const bool has_start = tally.next_flow < state.starts.size;
        if (tally.n_heap == 0 && !has_start) return kAtRest;
        const int64_t start = has_start ? state.flows[state.starts[tally.next_flow]].start : kNever;
        const bool is_start = tally.n_heap == 0 || start <= state.heap[0] >> kEventBits;
        const int64_t now = is_start ? start : state.heap[0] >> kEventBits;
        if (now >= kMaxPs) return kOutOfTime;
        tally.now = now;
        ++tally.events;
        if (is_start) {
            try_to_send(state, begin(state, state.starts[tally.next_flow++]));
        } else {
            take_event(state, pop(state) & ((int64_t{1} << kEventBits) - 1));
        }
    }
    return kRunning;
}

// The update rules by themselves, for tests against steps computed by hand.
void conic_dctcp(Flow* flow, const Control* control, int64_t acked, int marked) {
    dctcp_on_ack(*flow, *control, acked, marked != 0);
}
void conic_dcqcn_mark(Flow* flow, const Control* control, int64_t now) { dcqcn_on_mark(*flow, *control, now); }
void conic_dcqcn_advance(Flow* flow, const Control* control, int64_t now) { dcqcn_advance(*flow, *control, now); }
void conic_timely(Flow* flow, const Control* control, int64_t acked, int64_t rtt) {
    timely_on_ack(*flow, *control, acked, rtt);
}
void conic_hpcc(Flow* flow, Hop* seen, const Hop* hops, int n_hops, const Control* control, int64_t acked) {
    hpcc_on_ack(*flow, seen, hops, n_hops, *control, acked);
}
void conic_hpcc_hop(const Port* port, const Control* control, int64_t now, Hop* hop) {
    *hop = written_hop(*port, *control, now);
}
void conic_pint(Flow* flow, const Control* control, int64_t acked, int power) {
    pint_on_ack(*flow, *control, acked, power);
}
double conic_pint_smoothed(const Port* port, int64_t now, int64_t round_trip) {
    return smoothed(*port, now, round_trip);
}
int conic_pint_encode(double utilisation, double base, uint64_t* random) { return encode(utilisation, base, *random); }
double conic_pint_decode(int power, double base) { return decode(power, base); }
int conic_admit(Node* node, Port* port, const Control* control, int64_t size) {
    return admit(*node, *port, *control, size);
}
void conic_release(Node* node, Port* port, const Control* control, int64_t size) {
    release(*node, *port, *control, size);
}
int conic_should_pause(const Node* node, const Port* port, const Control* control) {
    return should_pause(*node, *port, *control);
}
int conic_should_resume(const Node* node, const Port* port, const Control* control) {
    return should_resume(*node, *port, *control);
}
int conic_should_mark(const Port* port, uint64_t* random) { return should_mark(*port, *random); }
int conic_is_window_full(const Flow* flow, const Control* control) { return is_window_full(*flow, *control); }

}  // extern "C"
