// What a host does: sends the packets of its flows in turn, acknowledges what comes in, reacts to acknowledgements.
#pragma once

#include "dcqcn.h"
#include "dctcp.h"
#include "hpcc.h"
#include "pint.h"
#include "timely.h"
#include "wire.h"

namespace conic::congestion {

// Whether as much is unacknowledged as the window allows, which shrinks with the rate if it is scaled.
inline bool is_window_full(const Flow& flow, const Control& control) {
    if (flow.window == 0) return false;
    int64_t window = flow.window;
    if (control.is_window_scaled) {
        window = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(window) * flow.rate / flow.line_rate), 1);
    }
    return flow.sent - flow.acked >= window;
}

// The next packet of a flow, and when the one after may go.
inline int64_t fill(State& state, int64_t f) {
    Flow& flow = state.flows[f];
    const Control& control = state.control[0];
    const int64_t now = state.tally[0].now;
    const int64_t payload = std::min(control.payload, flow.size - flow.sent);
    const int64_t size = payload + control.overhead;
    const int64_t place = take(state, kData, f, size);
    Packet& packet = state.packets[place];
    packet.payload = static_cast<int16_t>(payload);
    packet.path = static_cast<int32_t>(flow.path);
    packet.sequence = flow.sent;
    packet.sent_at = now;
    flow.sent += payload;
    if (control.algorithm == kDcqcn) dcqcn_advance(flow, control, now);
    flow.next_at = now + static_cast<int64_t>(static_cast<double>(size) * kBitsAPs / flow.rate);
    flow.last_size = size;
    return place;
}

// The next packet of the flows of host `n`, taken in turn; kNone if none may send now, and then it looks again.
inline int64_t next_packet(State& state, int64_t n) {
    Node& node = state.nodes[n];
    const int64_t now = state.tally[0].now;
    int64_t wake_at = kNever;
    for (int64_t step = 1; step <= node.n_active; ++step) {
        const int64_t place = (node.last_flow + step) % node.n_active;
        const int64_t f = state.active[node.first_flow + place];
        const Flow& flow = state.flows[f];
        if (is_window_full(flow, state.control[0])) continue;
        if (flow.next_at > now) {
            wake_at = std::min(wake_at, flow.next_at);
            continue;
        }
        node.last_flow = place;
        const int64_t packet = fill(state, f);
        if (flow.sent == flow.size) {
            for (int64_t i = node.first_flow + place; i < node.first_flow + node.n_active - 1; ++i) {
                state.active[i] = state.active[i + 1];
            }
            --node.n_active;
            node.last_flow = place - 1;
        }
        return packet;
    }
    if (wake_at < node.wake_at) {
        node.wake_at = wake_at;
        push(state, wake_at, node.port * 4 + kWake);
    }
    return kNone;
}

// Has flows begin that wait for nothing else any more: `n` of `State::children` from `first` on.
inline void let_go(State& state, int64_t first, int64_t n) {
    for (int64_t c = first; c < first + n; ++c) {
        Flow& child = state.flows[state.children[c]];
        if (--child.n_waits > 0) continue;
        push(state, std::max(state.tally[0].now, child.start), (state.ports.size + state.children[c]) * 4 + kStart);
    }
}

// Has a flow begin; the port of its host.
inline int64_t begin(State& state, int64_t f) {
    Flow& flow = state.flows[f];
    Node& node = state.nodes[flow.source];
    flow.start = flow.next_at = state.tally[0].now;
    state.active[node.first_flow + node.n_active++] = f;
    let_go(state, flow.first_follower, flow.n_followers);
    return node.port;
}

// Counts a packet and turns it into its acknowledgement, which carries mark and telemetry back.
inline void receive_data(State& state, int64_t place) {
    Packet& packet = state.packets[place];
    const Control& control = state.control[0];
    Tally& tally = state.tally[0];
    Flow& flow = state.flows[packet.flow];
    if (packet.sequence != flow.received) ++tally.reordered;
    flow.received += packet.payload;
    tally.delivered += packet.payload;
    ++tally.data_packets;
    if (flow.series != kNone) {
        const int64_t bin = std::min(tally.now / control.series_ps, control.n_bins - 1);
        state.series[flow.series * control.n_bins + bin] += packet.payload;
    }
    if (flow.received == flow.size) {
        flow.delivered_at = tally.now;
        let_go(state, flow.first_child, flow.n_children);
    }
    packet.kind = kAck;
    packet.size = static_cast<int16_t>(control.ack_size);
    packet.sequence = flow.received;
    packet.path = static_cast<int32_t>(flow.path_back);
}

// Has the algorithm of the run react to an acknowledgement.
inline void receive_ack(State& state, int64_t place) {
    const Packet& packet = state.packets[place];
    const Control& control = state.control[0];
    Tally& tally = state.tally[0];
    Flow& flow = state.flows[packet.flow];
    flow.acked = std::max(flow.acked, packet.sequence);
    if (flow.acked == flow.size && flow.finished_at == kNone) {
        flow.finished_at = tally.now;
        ++tally.n_finished;
    }
    switch (control.algorithm) {
        case kDctcp: dctcp_on_ack(flow, control, packet.sequence, packet.is_marked); break;
        case kDcqcn:
            if (packet.is_marked) dcqcn_on_mark(flow, control, tally.now);
            break;
        case kTimely: timely_on_ack(flow, control, packet.sequence, (tally.now - packet.sent_at) / kPsANs); break;
        case kHpcc:
            hpcc_on_ack(flow, &state.flow_hops[packet.flow * kMaxHops], &state.packet_hops[place * kMaxHops],
                        packet.n_hops, control, packet.sequence);
            break;
        case kPint:
            if (control.sampled >= 1 || uniform(state.random[0]) < control.sampled) {
                pint_on_ack(flow, control, packet.sequence, packet.power);
            }
            break;
        default: break;
    }
    if (flow.rate > flow.line_rate || flow.rate < std::min(control.min_rate, flow.line_rate)) ++tally.out_of_bounds;
    give_back(state, place);
}

}  // namespace conic::congestion
