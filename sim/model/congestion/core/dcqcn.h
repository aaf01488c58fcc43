// DCQCN: DCTCP's marks and QCN's recovery, on timers (Zhu et al., SIGCOMM 2015, section 3).
//
// In the form of network adapters and of the ns-3 release of HPCC (its README: "Mellanox's implementation on CX4"): every
// mark comes back with its acknowledgement, a rate falls at most once in an interval, and only a timer raises it. What
// timers do between two looks at a flow is done when it is looked at: nothing sees the difference.
#pragma once

#include "state.h"

namespace conic::congestion {

// R_T <- R_C; R_C <- R_C (1 - alpha / 2) (equation 1); the target stays if nothing was regained since.
inline void dcqcn_decrease(Flow& flow, const Control& control, int64_t now) {
    if (control.is_clamped || flow.stage > 0) flow.reference = flow.rate;
    flow.rate = std::max(control.min_rate, flow.rate * (1 - flow.alpha / 2));
    flow.stage = 0;
    flow.is_marked_decrease = false;
    flow.increase_at = now + control.increase_ps;
}

// Fast recovery, additive increase, hyper increase (equations 3 and 4): half of the way to the target.
inline void dcqcn_increase(Flow& flow, const Control& control) {
    if (flow.stage >= control.recovery_stages) {
        const double step = flow.stage == control.recovery_stages ? control.increase : control.hyper_increase;
        flow.reference = std::min(flow.reference + step, flow.line_rate);
    }
    flow.rate = (flow.rate + flow.reference) / 2;
    ++flow.stage;
}

// All timers up to `now`, in their order.
inline void dcqcn_advance(Flow& flow, const Control& control, int64_t now) {
    if (flow.is_first_mark) return;
    for (;;) {
        const int64_t next = std::min({flow.alpha_at, flow.decrease_at, flow.increase_at});
        if (next > now) return;
        if (next == flow.alpha_at) {
            flow.alpha_at += control.alpha_ps;
            flow.alpha = (1 - control.gain) * flow.alpha + (flow.is_marked_alpha ? control.gain : 0);
            flow.is_marked_alpha = false;
        } else if (next == flow.decrease_at) {
            flow.decrease_at += control.decrease_ps;
            if (flow.is_marked_decrease) dcqcn_decrease(flow, control, next);
        } else {
            flow.increase_at += control.increase_ps;
            dcqcn_increase(flow, control);
        }
    }
}

// A congestion notification at time `now`; the first one starts the timers, with alpha at 1.
inline void dcqcn_on_mark(Flow& flow, const Control& control, int64_t now) {
    dcqcn_advance(flow, control, now);
    flow.is_marked_alpha = true;
    flow.is_marked_decrease = true;
    if (!flow.is_first_mark) return;
    flow.is_first_mark = false;
    flow.alpha = 1;
    flow.is_marked_alpha = false;
    flow.reference = flow.rate;
    flow.alpha_at = now + control.alpha_ps;
    flow.decrease_at = now + control.decrease_ps + kPsANs;  // so that alpha is new when both fall together
}

}  // namespace conic::congestion
