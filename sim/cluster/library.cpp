// The C interface that cluster.py loads.
#include "cluster.h"

#include <string>
#include <utility>

using conic::Cluster;
using conic::Event;

namespace {

std::string fault;  // of the last call that failed

// No exception leaves the library: a fault becomes `instead`, and its text is kept for conic_fault.
template <class Call, class Answer = decltype(std::declval<Call>()())>
Answer guarded(Call call, Answer instead) noexcept {
    try {
        return call();
    } catch (const std::exception& error) {
        fault = error.what();
    } catch (...) {
        fault = "something that is no exception of the standard library";
    }
    return instead;
}

// The same for what answers nothing: 0, or -1 for a fault.
template <class Call>
int guarded(Call call) noexcept {
    return guarded([&] { return call(), 0; }, -1);
}

constexpr uint64_t kFault = UINT64_MAX;  // what a count is instead

}  // namespace

extern "C" {

const char* conic_fault() { return fault.c_str(); }

// How time passes: `threads`, whether quiescent models are left out, and whether all keep step in every cycle.
Cluster* conic_create(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, uint64_t read_latency,
                      uint64_t write_latency, uint64_t memory_jitter, double memory_stall, double beat_cycles,
                      uint64_t link_latency, uint64_t link_jitter, double link_stall, double link_errors, uint64_t seed, uint32_t threads,
                      int skip, int lockstep) {
    return guarded([&] {
        return new Cluster(nodes, switches, memory_bytes, {read_latency, write_latency, memory_jitter, memory_stall, beat_cycles},
                           {link_latency, link_jitter, link_stall, link_errors}, seed, {threads, skip != 0, lockstep != 0});
    }, static_cast<Cluster*>(nullptr));
}

int conic_destroy(Cluster* cluster) { return guarded([&] { delete cluster; }); }

// Stations are NICs, then switches.
int conic_connect(Cluster* cluster, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port, uint64_t seed) {
    return guarded([&] { cluster->connect(a, a_port, b, b_port, seed); });
}

int conic_reset(Cluster* cluster) { return guarded([&] { cluster->reset(); }); }
int conic_run(Cluster* cluster, uint64_t most) { return guarded([&] { return int{cluster->run(most)}; }, -1); }
int conic_step(Cluster* cluster, uint64_t cycles) { return guarded([&] { cluster->step(cycles); }); }
int conic_check_boundary(Cluster* cluster) { return guarded([&] { cluster->check_boundary(); }); }
uint64_t conic_now(Cluster* cluster) { return guarded([&] { return cluster->now(); }, kFault); }
uint64_t conic_settled_at(Cluster* cluster) { return guarded([&] { return cluster->settled_at(); }, kFault); }
uint64_t conic_damaged(Cluster* cluster) { return guarded([&] { return cluster->damaged(); }, kFault); }
uint64_t conic_fingerprint(Cluster* cluster) { return guarded([&] { return cluster->fingerprint(); }, kFault); }
uint64_t conic_evaluated(Cluster* cluster) { return guarded([&] { return cluster->evaluated(); }, kFault); }
uint64_t conic_bytes_a_node(Cluster* cluster) { return guarded([&] { return uint64_t{cluster->bytes_a_node()}; }, kFault); }

uint8_t* conic_memory(Cluster* cluster, uint32_t node) {
    return guarded([&] { return cluster->node(node).memory.data(); }, static_cast<uint8_t*>(nullptr));
}

int conic_watch(Cluster* cluster, uint32_t node, uint64_t address) {
    return guarded([&] { cluster->node(node).watch(address); });
}

int conic_was_written(Cluster* cluster, uint32_t node, uint64_t address) {
    return guarded([&] { return int{cluster->node(node).was_written(address)}; }, -1);
}

int conic_observe(Cluster* cluster, uint32_t node, uint64_t first, uint64_t last) {
    return guarded([&] { cluster->node(node).observe(first, last); });
}

// Collects what has landed in observed ranges, and says how much; conic_landed has it until the next call.
uint64_t conic_land(Cluster* cluster) {
    return guarded([&] { return uint64_t{cluster->collect_landed().size()}; }, kFault);
}

const Event* conic_landed(Cluster* cluster) {
    return guarded([&]() -> const Event* { return cluster->landed().data(); }, static_cast<const Event*>(nullptr));
}

int conic_write(Cluster* cluster, int is_switch, uint32_t number, uint32_t address, uint32_t value, uint64_t not_before) {
    return guarded([&] { cluster->station(is_switch, number).registers.write(address, value, not_before); });
}

int conic_read(Cluster* cluster, int is_switch, uint32_t number, uint32_t address) {
    return guarded([&] { cluster->station(is_switch, number).registers.read(address); });
}

uint32_t conic_value(Cluster* cluster, int is_switch, uint32_t number) {
    return guarded([&] { return uint32_t{cluster->station(is_switch, number).registers.value()}; }, uint32_t{0});
}

int conic_await_registers(Cluster* cluster, int is_switch, uint32_t number, uint64_t most) {
    return guarded([&] { return int{cluster->await_registers(cluster->station(is_switch, number), most)}; }, -1);
}

uint32_t conic_register_errors(Cluster* cluster, int is_switch, uint32_t number) {
    return guarded([&] { return uint32_t{cluster->station(is_switch, number).registers.errors()}; }, uint32_t{0});
}

int conic_log_events(Cluster* cluster, int on) { return guarded([&] { cluster->log_events(on); }); }

uint64_t conic_event_count(Cluster* cluster) {
    return guarded([&] { return uint64_t{cluster->collect_log().size()}; }, kFault);
}

const Event* conic_events(Cluster* cluster) {
    return guarded([&]() -> const Event* { return cluster->collect_log().data(); }, static_cast<const Event*>(nullptr));
}

int conic_open_waves(Cluster* cluster, const char* path) { return guarded([&] { cluster->open_waves(path); }); }

}
