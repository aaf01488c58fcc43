// The shared buffer of a switch: what a packet is counted against, when a port pauses its peer, what is marked.
//
// As in the ns-3 release of HPCC (switch-mmu.cc): an ingress has a reserve of its own, then shares the pool up to a
// threshold that shrinks with what is used, and after that has headroom for what is on its way when it pauses.
#pragma once

#include "state.h"

namespace conic::congestion {

// Bytes of the pool that an ingress may use now: what is free, by a power of two (8 for a host's rate).
inline int64_t threshold(const Node& node, const Port& port) { return (node.pool - node.shared) >> port.shift; }

// Bytes of the pool that it uses.
inline int64_t shared_use(const Port& port, const Control& control) {
    return std::max<int64_t>(port.ingress_bytes - control.reserve, 0);
}

// Counts a packet that comes in at a port; false if there is no room, and then it is lost.
inline bool admit(Node& node, Port& port, const Control& control, int64_t size) {
    const int64_t limit = threshold(node, port);
    if (port.headroom_bytes + size > port.headroom && shared_use(port, control) + size > limit) return false;
    const int64_t above = port.ingress_bytes + size - control.reserve;
    if (above > 0 && above > limit) {
        port.headroom_bytes += size;
    } else {
        node.shared += std::min(size, std::max<int64_t>(above, 0));
        port.ingress_bytes += size;
    }
    node.occupied += size;
    node.peak = std::max(node.peak, node.occupied);
    return true;
}

// Takes a packet out of the count of its ingress: headroom first, then the pool, then the reserve.
inline void release(Node& node, Port& port, const Control& control, int64_t size) {
    const int64_t from_headroom = std::min(port.headroom_bytes, size);
    const int64_t from_pool = std::min(size - from_headroom, shared_use(port, control));
    port.headroom_bytes -= from_headroom;
    port.ingress_bytes -= size - from_headroom;
    node.shared -= from_pool;
    node.occupied -= size;
}

inline bool should_pause(const Node& node, const Port& port, const Control& control) {
    return !port.is_pausing && (port.headroom_bytes > 0 || shared_use(port, control) >= threshold(node, port));
}

// No headroom in use, and the pool's share below the threshold by the offset.
inline bool should_resume(const Node& node, const Port& port, const Control& control) {
    if (!port.is_pausing || port.headroom_bytes > 0) return false;
    const int64_t used = shared_use(port, control);
    return used == 0 || used + control.resume_offset <= threshold(node, port);
}

// A packet that leaves is marked (ECN) by chance from `k_min` on, always above `k_max` (RED on what stays behind it).
inline bool should_mark(const Port& port, uint64_t& random) {
    if (port.data_bytes > port.k_max) return true;
    if (port.data_bytes <= port.k_min) return false;
    const double share = static_cast<double>(port.data_bytes - port.k_min) / (port.k_max - port.k_min);
    return uniform(random) < port.p_max * share;
}

}  // namespace conic::congestion
