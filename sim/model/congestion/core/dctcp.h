// DCTCP: a window's share of marks, smoothed, says by how much to slow down (Alizadeh et al., SIGCOMM 2010, section 3.3).
// As a rate, from line rate on and without delayed acknowledgements, as the ns-3 release of HPCC has it for hardware: the
// window goes with the rate.
#pragma once

#include "state.h"

namespace conic::congestion {

// One acknowledgement: up to `acked`, of a packet that was marked or not.
//
// Once a round trip: alpha <- (1 - g) alpha + g F, F being the share of marked packets (equation 1). The first mark of a
// round trip: rate <- rate (1 - alpha / 2) (equation 2), and no increase until what is under way has come back.
inline void dctcp_on_ack(Flow& flow, const Control& control, int64_t acked, bool is_marked) {
    const bool is_round_over = acked > flow.update_at;
    if (is_marked) ++flow.marks;
    if (is_round_over) {
        if (flow.update_at == 0) {
            flow.batch = flow.sent / control.payload + 1;
        } else {
            const double share = std::min(1.0, static_cast<double>(flow.marks) / static_cast<double>(flow.batch));
            flow.alpha = (1 - control.gain) * flow.alpha + control.gain * share;
            flow.marks = 0;
            flow.batch = (flow.sent - acked) / control.payload + 1;
        }
        flow.update_at = flow.sent;
    }
    if (flow.is_reduced && acked > flow.reduced_until) flow.is_reduced = false;
    if (is_marked && !flow.is_reduced) {
        flow.rate = std::max(control.min_rate, flow.rate * (1 - flow.alpha / 2));
        flow.is_reduced = true;
        flow.reduced_until = flow.sent;
    }
    if (is_round_over && !flow.is_reduced) flow.rate = std::min(flow.line_rate, flow.rate + control.increase);
}

}  // namespace conic::congestion
