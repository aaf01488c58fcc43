// Packets and links: the pool, the queues of a port, the wire behind it.
#pragma once

#include "heap.h"

namespace conic::congestion {

// Picoseconds that `size` bytes take at `rate` bits a second, rounded up.
inline int64_t send_ps(int64_t size, int64_t rate) { return (size * int64_t{8'000'000'000'000} + rate - 1) / rate; }

// A packet out of the pool, which must not be empty.
inline int64_t take(State& state, int kind, int64_t flow, int64_t size) {
    Tally& tally = state.tally[0];
    const int64_t place = tally.free;
    Packet& packet = state.packets[place];
    tally.free = packet.next;
    --tally.n_free;
    packet = Packet{};
    packet.next = packet.path = packet.ingress = kNone;
    packet.kind = static_cast<int8_t>(kind);
    packet.flow = static_cast<int32_t>(flow);
    packet.size = static_cast<int16_t>(size);
    return place;
}

inline void give_back(State& state, int64_t place) {
    Tally& tally = state.tally[0];
    state.packets[place].next = static_cast<int32_t>(tally.free);
    tally.free = place;
    ++tally.n_free;
}

// Puts a packet at the end of a list of packets.
inline void append(State& state, int64_t& first, int64_t& last, int64_t place) {
    state.packets[place].next = kNone;
    if (first == kNone) {
        first = place;
    } else {
        state.packets[last].next = static_cast<int32_t>(place);
    }
    last = place;
}

inline void enqueue(State& state, Port& port, int64_t place) {
    const Packet& packet = state.packets[place];
    if (is_control(state.control[0], packet.kind)) {
        append(state, port.control, port.control_last, place);
    } else {
        append(state, port.data, port.data_last, place);
        port.data_bytes += packet.size;
    }
    port.queue_bytes += packet.size;
    port.peak_bytes = std::max(port.peak_bytes, port.queue_bytes);
}

// Has a packet come out of memory that will be needed soon: waiting for it is most of what a run takes otherwise.
inline void fetch_early(const State& state, int64_t place) { __builtin_prefetch(state.packets.items + place, 1); }

// The next packet of a port: control first, data unless paused; kNone if there is none.
inline int64_t dequeue(State& state, Port& port) {
    int64_t place = port.control;
    if (place != kNone) {
        port.control = state.packets[place].next;
    } else if (port.data != kNone && !port.is_paused) {
        place = port.data;
        port.data = state.packets[place].next;
        port.data_bytes -= state.packets[place].size;
    } else {
        return kNone;
    }
    const Packet& packet = state.packets[place];
    if (packet.next != kNone) fetch_early(state, packet.next);
    port.queue_bytes -= packet.size;
    return place;
}

// Has an event find the port free, once.
inline void expect_free(State& state, int64_t p) {
    Port& port = state.ports[p];
    if (port.is_expected) return;
    port.is_expected = true;
    push(state, port.busy_until, p * 4 + kPortFree);
}

// Begins to send a packet on a port, which must be free.
inline void transmit(State& state, int64_t p, int64_t place) {
    Port& port = state.ports[p];
    Tally& tally = state.tally[0];
    Packet& packet = state.packets[place];
    if (tally.now < port.busy_until) ++tally.overlapping;
    port.busy_until = tally.now + send_ps(packet.size, port.rate);
    port.tx_bytes += packet.size;
    port.last_size = packet.size;
    port.last_time = tally.now;
    ++tally.hops;
    ++packet.path;
    const int64_t arrives = port.busy_until + port.delay;
    if (port.wire == kNone) {
        push(state, arrives, p * 4 + kArrival);
    } else {
        state.packets[port.wire_last].next_arrives = arrives;
    }
    append(state, port.wire, port.wire_last, place);
}

// Takes the packet that comes out of the wire of a port.
inline int64_t arrive(State& state, int64_t p) {
    Port& port = state.ports[p];
    const int64_t place = port.wire;
    const Packet& packet = state.packets[place];
    port.wire = packet.next;
    if (port.wire != kNone) {
        push(state, packet.next_arrives, p * 4 + kArrival);
        fetch_early(state, port.wire);
    }
    state.ports[port.peer].rx_bytes += packet.size;
    return place;
}

// Has port `p` tell its peer to pause or to go on, as soon as the packet that it sends is out.
inline void send_pfc(State& state, int64_t p, int kind) {
    Port& port = state.ports[p];
    const int64_t place = take(state, kind, kNone, state.control[0].pfc_size);
    if (state.tally[0].now >= port.busy_until && port.control == kNone) {
        transmit(state, p, place);
    } else {
        enqueue(state, port, place);
        expect_free(state, p);
    }
}

}  // namespace conic::congestion
