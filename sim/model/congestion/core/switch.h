// What a switch does with a packet: counts it, queues it, marks it, writes telemetry into it.
#pragma once

#include "buffer.h"
#include "hpcc.h"
#include "pint.h"
#include "wire.h"

namespace conic::congestion {

// Queues a packet that came in at port `p` of a switch; the port it leaves by, or kNone if it was lost.
inline int64_t come_in(State& state, int64_t p, int64_t place) {
    Packet& packet = state.packets[place];
    const Control& control = state.control[0];
    const int64_t out = state.paths[packet.path];
    if (!is_control(control, packet.kind)) {
        Port& port = state.ports[p];
        Node& node = state.nodes[port.node];
        if (!admit(node, port, control, packet.size)) {
            ++state.tally[0].lost;
            give_back(state, place);
            return kNone;
        }
        if (node.occupied > node.buffer || node.shared > node.pool) ++state.tally[0].overfull;
        packet.ingress = static_cast<int32_t>(p);
        if (should_pause(node, port, control)) {
            port.is_pausing = true;
            ++port.pauses;
            send_pfc(state, p, kPause);
        }
    }
    enqueue(state, state.ports[out], place);
    return out;
}

// What happens to a packet when port `p` of a switch begins to send it.
inline void leave(State& state, int64_t p, int64_t place) {
    Packet& packet = state.packets[place];
    const Control& control = state.control[0];
    if (is_control(control, packet.kind)) return;
    Port& port = state.ports[p];
    Port& ingress = state.ports[packet.ingress];
    Node& node = state.nodes[port.node];
    release(node, ingress, control, packet.size);
    if (should_resume(node, ingress, control)) {
        ingress.is_pausing = false;
        send_pfc(state, packet.ingress, kResume);
    }
    if (packet.kind != kData) return;
    if (control.is_marking && should_mark(port, state.random[0])) {
        packet.is_marked = true;
        ++state.tally[0].marks;
    }
    if (control.algorithm == kHpcc && packet.n_hops < kMaxHops) {
        state.packet_hops[place * kMaxHops + packet.n_hops++] = written_hop(port, control, state.tally[0].now);
    } else if (control.algorithm == kPint) {
        port.utilisation = smoothed(port, state.tally[0].now, control.round_trip);
        packet.power = std::max(packet.power, encode(port.utilisation, control.log_base, state.random[0]));
    }
}

}  // namespace conic::congestion
