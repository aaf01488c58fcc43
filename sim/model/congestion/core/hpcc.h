// HPCC: telemetry of every link says how full it is, and the sender aims a little below (Li et al., SIGCOMM 2019,
// section 3, algorithm 1). A rate stands for the window: W = rate times T.
#pragma once

#include "state.h"

namespace conic::congestion {

// Units of bytes and queue lengths in the header, times a factor that grows with the line rate; widths of its fields
// (int-header.h).
constexpr int64_t kByteUnit = 128, kQueueUnit = 80;
constexpr int64_t kTimeMask = (1 << 24) - 1, kBytesMask = (1 << 20) - 1, kQueueMask = (1 << 17) - 1;

// What a port writes when it begins to send: when, bytes sent before, what still waits, how fast the link is.
inline Hop written_hop(const Port& port, const Control& control, int64_t now) {
    const int64_t bytes = port.tx_bytes / (kByteUnit * control.unit_factor);
    const int64_t queue = port.queue_bytes / (kQueueUnit * control.unit_factor);
    return {static_cast<int32_t>((now / kPsANs) & kTimeMask), static_cast<int32_t>(bytes & kBytesMask),
            static_cast<int32_t>(queue & kQueueMask), static_cast<int32_t>(port.rate / kBitsAMb)};
}

// A new rate, also for the gap behind the packet that was sent last.
inline void change_rate(Flow& flow, double rate) {
    const double bits = static_cast<double>(flow.last_size) * kBitsAPs;
    flow.next_at += static_cast<int64_t>(bits / rate) - static_cast<int64_t>(bits / flow.rate);
    flow.rate = rate;
}

// The rate for a link `excess` times as full as it should be (ComputeWind): by division, or a step up while that helps.
inline void hpcc_react(Flow& flow, const Control& control, double excess, bool is_round_over) {
    const bool is_divided = excess >= 1 || flow.stage >= control.max_stage;
    const double rate = (is_divided ? flow.reference / excess : flow.reference) + control.increase;
    change_rate(flow, std::min(std::max(rate, control.min_rate), flow.line_rate));
    if (!is_round_over) return;
    flow.reference = flow.rate;
    flow.stage = is_divided ? 0 : flow.stage + 1;
}

// One acknowledgement with telemetry of `n_hops` switches; `seen` is that of the one before, and is replaced.
//
// The utilisation of the fullest link, smoothed over a round trip, gives the new rate (MeasureInflight); the rate that
// updates start from changes once a round trip, so that one congestion is not answered twice.
inline void hpcc_on_ack(Flow& flow, Hop* seen, const Hop* hops, int n_hops, const Control& control, int64_t acked) {
    const bool is_round_over = acked > flow.update_at;
    if (flow.update_at == 0) {
        flow.update_at = flow.sent;
        std::copy(hops, hops + n_hops, seen);
        return;
    }
    if (!is_round_over && !control.is_per_ack) return;
    double fullest = 0;
    int64_t tau = 0;
    for (int i = 0; i < n_hops; ++i) {
        const Hop &now = hops[i], &then = seen[i];
        const int64_t elapsed = (now.time - then.time) & kTimeMask;
        const int64_t sent = ((now.bytes - then.bytes) & kBytesMask) * kByteUnit * control.unit_factor;
        const int64_t queue = std::min(now.queue, then.queue) * kQueueUnit * control.unit_factor;
        const double rate = static_cast<double>(now.mbps) * kBitsAMb;
        double used = static_cast<double>(queue) * flow.line_rate / rate / flow.window;
        if (elapsed > 0) used += static_cast<double>(sent) * kBitsANs / elapsed / rate;
        if (used > fullest) {
            fullest = used;
            tau = elapsed;
        }
        seen[i] = now;
    }
    if (n_hops > 0) {
        tau = std::min(tau, flow.base_rtt);
        flow.utilisation = (flow.utilisation * (flow.base_rtt - tau) + fullest * tau) / flow.base_rtt;
        hpcc_react(flow, control, flow.utilisation / control.target, is_round_over);
    }
    if (is_round_over) flow.update_at = std::max(flow.update_at, flow.sent);
}

}  // namespace conic::congestion
