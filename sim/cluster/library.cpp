// The C interface that cluster.py loads.
#include "cluster.h"

#include <string>

using conic::Cluster;
using conic::End;
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

Cluster* conic_create(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, uint64_t read_latency,
                      uint64_t write_latency, uint64_t jitter, double stall, uint64_t seed) {
    return new Cluster(nodes, switches, memory_bytes, {read_latency, write_latency, jitter, stall}, seed);
}

void conic_destroy(Cluster* cluster) { delete cluster; }

// An end is a node (number >= 0, is_switch 0) or a port of a switch.
void conic_connect(Cluster* cluster, int is_switch_a, int number_a, int port_a, int is_switch_b, int number_b, int port_b,
                   uint64_t latency, uint64_t jitter, double stall, uint64_t seed) {
    const End a{is_switch_a ? -1 : number_a, is_switch_a ? number_a : -1, port_a};
    const End b{is_switch_b ? -1 : number_b, is_switch_b ? number_b : -1, port_b};
    cluster->connect(a, b, {latency, jitter, stall}, seed);
}

int conic_reset(Cluster* cluster, uint64_t cycles) { return guarded([&] { return cluster->reset(cycles), 0; }); }
int conic_run(Cluster* cluster, uint64_t most) { return guarded([&] { return int{cluster->run(most)}; }); }
int conic_step(Cluster* cluster, uint64_t cycles) { return guarded([&] { return cluster->step(cycles), 0; }); }
void conic_check_boundary(Cluster* cluster) { cluster->check_boundary(); }
uint64_t conic_now(Cluster* cluster) { return cluster->now(); }
uint8_t* conic_memory(Cluster* cluster, uint32_t node) { return cluster->node(node).memory.data(); }
void conic_watch(Cluster* cluster, uint32_t node, uint64_t address) { cluster->watch(node, address); }
int conic_watch_hit(Cluster* cluster, uint32_t node, uint64_t address) {
    return cluster->node(node).watches.at(address);
}

void conic_write(Cluster* cluster, int is_switch, uint32_t number, uint32_t address, uint32_t value, uint64_t not_before) {
    if (is_switch)
        cluster->fabric(number).registers.write(address, value, not_before);
    else
        cluster->node(number).registers.write(address, value, not_before);
}

void conic_read(Cluster* cluster, int is_switch, uint32_t number, uint32_t address) {
    if (is_switch)
        cluster->fabric(number).registers.read(address);
    else
        cluster->node(number).registers.read(address);
}

uint32_t conic_value(Cluster* cluster, int is_switch, uint32_t number) {
    return is_switch ? cluster->fabric(number).registers.value() : cluster->node(number).registers.value();
}

int conic_registers_idle(Cluster* cluster, int is_switch, uint32_t number) {
    return is_switch ? cluster->fabric(number).registers.idle() : cluster->node(number).registers.idle();
}

uint32_t conic_register_errors(Cluster* cluster, int is_switch, uint32_t number) {
    return is_switch ? cluster->fabric(number).registers.errors() : cluster->node(number).registers.errors();
}

void conic_log_events(Cluster* cluster, int on) { cluster->log_events(on); }
uint64_t conic_event_count(Cluster* cluster) { return cluster->log().size(); }
const Event* conic_events(Cluster* cluster) { return cluster->log().data(); }
void conic_open_waves(Cluster* cluster, const char* path) { cluster->open_waves(path); }

}
