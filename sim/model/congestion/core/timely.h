// TIMELY: the gradient of the round trip time says where to go (Mittal et al., SIGCOMM 2015, algorithm 1), once a round
// trip, and with an increase that turns hyperactive after as many increases in a row as the ns-3 release of HPCC has.
#pragma once

#include "state.h"

namespace conic::congestion {

// One acknowledgement: up to `acked`, with a round trip of `rtt` ns. The first round trip is remembered only.
// `smoothing` is the weight of a new difference (alpha), `decrease` beta, `increase` and `hyper_increase` delta and N delta.
inline void timely_on_ack(Flow& flow, const Control& control, int64_t acked, int64_t rtt) {
    if (acked <= flow.update_at) return;
    if (flow.update_at != 0) {
        const double change = static_cast<double>(rtt - flow.last_rtt);
        flow.rtt_difference = (1 - control.smoothing) * flow.rtt_difference + control.smoothing * change;
        const double gradient = flow.rtt_difference / static_cast<double>(control.min_rtt);
        if (rtt < control.t_low || (rtt <= control.t_high && gradient <= 0)) {
            const double step = flow.stage < control.hyper_stages ? control.increase : control.hyper_increase;
            flow.rate = std::min(flow.reference + step, flow.line_rate);
            ++flow.stage;
        } else {
            const double high = static_cast<double>(control.t_high) / static_cast<double>(rtt);
            const double factor = rtt > control.t_high ? 1 - control.decrease * (1 - high)
                                                       : std::max(1 - control.decrease * gradient, 0.0);
            flow.rate = std::max(flow.reference * factor, control.min_rate);
            flow.stage = 0;
        }
        flow.reference = flow.rate;
    }
    if (flow.sent > flow.update_at) {
        flow.update_at = flow.sent;
        flow.last_rtt = rtt;
    }
}

}  // namespace conic::congestion
