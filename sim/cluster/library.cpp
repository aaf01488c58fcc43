// The C interface that cluster.py loads.
#include "cluster.h"

#include <string>

using conic::Cluster;
using conic::Event;

namespace {

std::string fault;  // of the last call that failed

// No exception leaves the library: a fault becomes -1, and its text is kept for conic_fault.
template <class Call>
int guarded(Call call) {
    try {
        return call();
    } catch (const std::exception& error) {
        fault = error.what();
        return -1;
    }
}

}  // namespace

extern "C" {

const char* conic_fault() { return fault.c_str(); }

// How time passes: `threads`, whether quiescent models are left out, and whether all keep step in every cycle.
Cluster* conic_create(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, uint64_t read_latency,
                      uint64_t write_latency, uint64_t memory_jitter, double memory_stall, uint64_t link_latency,
                      uint64_t link_jitter, double link_stall, uint64_t seed, uint32_t threads, int skip, int lockstep) {
    Cluster* made = nullptr;
    guarded([&] {
        made = new Cluster(nodes, switches, memory_bytes, {read_latency, write_latency, memory_jitter, memory_stall},
                           {link_latency, link_jitter, link_stall}, seed, {threads, skip != 0, lockstep != 0});
        return 0;
    });
    return made;
}

void conic_destroy(Cluster* cluster) { delete cluster; }

// Stations are NICs, then switches.
int conic_connect(Cluster* cluster, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port, uint64_t seed) {
    return guarded([&] { return cluster->connect(a, a_port, b, b_port, seed), 0; });
}

int conic_reset(Cluster* cluster) { return guarded([&] { return cluster->reset(), 0; }); }
int conic_run(Cluster* cluster, uint64_t most) { return guarded([&] { return int{cluster->run(most)}; }); }
int conic_step(Cluster* cluster, uint64_t cycles) { return guarded([&] { return cluster->step(cycles), 0; }); }
void conic_check_boundary(Cluster* cluster) { cluster->check_boundary(); }
uint64_t conic_now(Cluster* cluster) { return cluster->now(); }
uint64_t conic_settled_at(Cluster* cluster) { return cluster->settled_at(); }
uint64_t conic_fingerprint(Cluster* cluster) { return cluster->fingerprint(); }
uint64_t conic_evaluated(Cluster* cluster) { return cluster->evaluated(); }
uint64_t conic_bytes_a_node(Cluster* cluster) { return cluster->bytes_a_node(); }
uint8_t* conic_memory(Cluster* cluster, uint32_t node) { return cluster->node(node).memory.data(); }
void conic_watch(Cluster* cluster, uint32_t node, uint64_t address) { cluster->node(node).watch(address); }
int conic_was_written(Cluster* cluster, uint32_t node, uint64_t address) { return cluster->node(node).was_written(address); }

void conic_write(Cluster* cluster, int is_switch, uint32_t number, uint32_t address, uint32_t value, uint64_t not_before) {
    cluster->station(is_switch, number).registers.write(address, value, not_before);
}

void conic_read(Cluster* cluster, int is_switch, uint32_t number, uint32_t address) {
    cluster->station(is_switch, number).registers.read(address);
}

uint32_t conic_value(Cluster* cluster, int is_switch, uint32_t number) {
    return cluster->station(is_switch, number).registers.value();
}

int conic_await_registers(Cluster* cluster, int is_switch, uint32_t number, uint64_t most) {
    return guarded([&] { return int{cluster->await_registers(cluster->station(is_switch, number), most)}; });
}

uint32_t conic_register_errors(Cluster* cluster, int is_switch, uint32_t number) {
    return cluster->station(is_switch, number).registers.errors();
}

void conic_log_events(Cluster* cluster, int on) { cluster->log_events(on); }
uint64_t conic_event_count(Cluster* cluster) { return cluster->collect_log().size(); }
const Event* conic_events(Cluster* cluster) { return cluster->collect_log().data(); }
void conic_open_waves(Cluster* cluster, const char* path) { cluster->open_waves(path); }

}
