// PINT: HPCC with one byte of telemetry, the fullest link's utilisation on a logarithmic scale (Ben Basat et al., SIGCOMM
// 2020). Switches smooth their utilisation themselves; it is rounded up or down by chance, so that it is right on average.
#pragma once

#include "hpcc.h"

namespace conic::congestion {

constexpr double kUtilisationScale = 512;  // utilisations are counted in 1/512 (pint.h: max_concurrent)
constexpr int16_t kMaxPower = 255;

// The utilisation of a port when it sends: U <- (T - tau) / T U + queue tau / (B T^2) + bytes / (B T).
// `round_trip` is T in ns, `now` in ps; tau and bytes are those since the packet before.
inline double smoothed(const Port& port, int64_t now, int64_t round_trip) {
    const double t = static_cast<double>(round_trip);
    const double tau = std::min(static_cast<double>(now - port.last_time) / kPsANs, t);
    const double held = static_cast<double>(port.rate) / kBitsANs * t;
    return (t - tau) / t * port.utilisation + static_cast<double>(port.queue_bytes) * tau / (held * t)
           + static_cast<double>(port.last_size) / held;
}

// The byte for a utilisation.
inline int16_t encode(double utilisation, double base, uint64_t& random) {
    const double steps = std::max(std::ceil(utilisation * kUtilisationScale), 1.0);
    const double power = std::floor(std::log(steps) / std::log(base));
    const double below = std::pow(base, power);
    const bool is_up = uniform(random) * (below * base - below) < steps - below;
    return std::min(static_cast<int16_t>(power + is_up), kMaxPower);
}

// The utilisation that a byte stands for.
inline double decode(int32_t power, double base) { return std::pow(base, power) / kUtilisationScale; }

// One acknowledgement with the byte `power`: HPCC's rule on what it stands for.
inline void pint_on_ack(Flow& flow, const Control& control, int64_t acked, int32_t power) {
    if (flow.update_at == 0) {
        flow.update_at = flow.sent;
        return;
    }
    const bool is_round_over = acked > flow.update_at;
    if (!is_round_over && !control.is_per_ack) return;
    hpcc_react(flow, control, decode(power, control.log_base) / control.target, is_round_over);
    if (is_round_over) flow.update_at = std::max(flow.update_at, flow.sent);
}

}  // namespace conic::congestion
