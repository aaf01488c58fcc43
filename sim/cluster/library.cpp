// The C interface that cluster.py loads.
#include "cluster.h"

#include <algorithm>
#include <string>
#include <utility>

using conic::Cluster;
using conic::Event;
using conic::Pack;

namespace {

thread_local std::string fault;  // of the last call of this thread that failed

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
                      uint64_t link_latency, uint64_t link_jitter, double link_stall, double link_errors, uint64_t seed,
                      int random_start, uint32_t threads, int skip, int lockstep, Pack* pack) {
    return guarded([&] {
        return new Cluster(nodes, switches, memory_bytes, {read_latency, write_latency, memory_jitter, memory_stall, beat_cycles},
                           {link_latency, link_jitter, link_stall, link_errors}, seed,
                           {threads, skip != 0, lockstep != 0}, random_start != 0, pack);
    }, static_cast<Cluster*>(nullptr));
}

// How many NICs a word has room for, and a word for so many clusters with so many nodes each.
uint32_t conic_lanes() { return conic::kNicLanes; }
Pack* conic_create_pack(uint32_t nodes, uint32_t clusters) {
    return guarded([&] { return new Pack(nodes, clusters); }, static_cast<Pack*>(nullptr));
}
int conic_destroy_pack(Pack* pack) { return guarded([&] { delete pack; }); }

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
uint64_t conic_damaged(Cluster* cluster, uint32_t kind) {
    return guarded([&] {
        return kind < static_cast<uint32_t>(conic::WireFault::kCount) ? cluster->damaged(conic::WireFault(kind)) : kFault;
    }, kFault);
}
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

// The bytes of a word that `strobes` names.
int conic_write_bytes(Cluster* cluster, int is_switch, uint32_t number, uint32_t address, uint32_t value, uint32_t strobes) {
    return guarded([&] { cluster->station(is_switch, number).registers.write(address, value, 0, uint8_t(strobes)); });
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

int conic_set_wires(Cluster* cluster, double flipped, double lost, double doubled, double delayed, uint64_t delay) {
    return guarded([&] { cluster->set_wires({0, flipped, lost, doubled, delayed, delay}); });
}

// Nothing leaves a port from cycle `from` up to `until`.
int conic_cut(Cluster* cluster, int is_switch, uint32_t number, uint32_t port, uint64_t from, uint64_t until) {
    return guarded([&] { cluster->station(is_switch, number).link(port).wire.cut(from, until); });
}

int conic_mend(Cluster* cluster, int is_switch, uint32_t number, uint32_t port) {
    return guarded([&] { cluster->station(is_switch, number).link(port).wire.mend(); });
}

int conic_stop(Cluster* cluster, uint32_t node, uint64_t at) { return guarded([&] { cluster->node(node).stop(at); }); }

// An output by its name: up to 64 bits of it.
uint64_t conic_output(Cluster* cluster, int is_switch, uint32_t number, const char* name) {
    return guarded([&] { return cluster->station(is_switch, number).output(name); }, kFault);
}

// Names of the registers and memories of a NIC or switch, a line each; they stand until the next call.
const char* conic_register_names(Cluster* cluster, int is_switch, uint32_t number) {
    thread_local std::string names;
    return guarded([&] {
        names.clear();
        for (const std::string& name : cluster->station(is_switch, number).model().register_names()) names += name + "\n";
        return names.c_str();
    }, static_cast<const char*>(nullptr));
}

// Words of a register; `values` and `known` (the bits that the model has) may be null. Returns how many there are.
uint64_t conic_get_register(Cluster* cluster, int is_switch, uint32_t number, const char* name, uint64_t* values,
                            uint64_t* known) {
    return guarded([&] {
        const conic::Register found = cluster->look_at(is_switch, number).model().find_register(name);
        if (values) found.get(values);
        if (known) std::copy(found.known.begin(), found.known.end(), known);
        return uint64_t{found.n_words};
    }, kFault);
}

int conic_set_register(Cluster* cluster, int is_switch, uint32_t number, const char* name, const uint64_t* values) {
    return guarded([&] { cluster->look_at(is_switch, number).model().find_register(name).set(values); });
}

int conic_select(Cluster* cluster, int is_switch, uint32_t number, const char* name, const uint64_t* mask, uint32_t words) {
    return guarded([&] { cluster->station(is_switch, number).select(name, {mask, mask + words}); });
}

uint64_t conic_selected_hash(Cluster* cluster, int is_switch, uint32_t number) {
    return guarded([&] { return cluster->look_at(is_switch, number).selected_hash(); }, kFault);
}

int conic_fail_memory(Cluster* cluster, uint32_t node, int is_write, uint64_t from, uint64_t count, uint32_t code) {
    return guarded([&] { cluster->node(node).memory.faults.fail(is_write, from, count, static_cast<uint8_t>(code)); });
}

int conic_fail_share(Cluster* cluster, uint32_t node, int is_write, double share, uint32_t code) {
    return guarded([&] { cluster->node(node).memory.faults.fail_share(is_write, share, static_cast<uint8_t>(code)); });
}

int conic_slow_memory(Cluster* cluster, uint32_t node, uint64_t from, uint64_t until, uint64_t extra) {
    return guarded([&] { cluster->node(node).memory.faults.slow(from, until, extra); });
}

// What has gone wrong so far at a host: 0 reads and 1 writes that were failed, 2 answers that were late, 3 accesses outside
// of what is allowed, 4 the address of the first of these.
uint64_t conic_memory_count(Cluster* cluster, uint32_t node, uint32_t which) {
    return guarded([&]() -> uint64_t {
        const conic::MemoryFaults& faults = cluster->node(node).memory.faults;
        switch (which) {
            case 0: case 1: return faults.failed(which);
            case 2: return faults.slowed();
            case 3: return faults.foreign();
            case 4: return faults.first_foreign();
            default: return kFault;
        }
    }, kFault);
}

int conic_allow(Cluster* cluster, uint32_t node, int is_write, uint64_t first, uint64_t last) {
    return guarded([&] { cluster->node(node).memory.faults.allow(is_write, first, last); });
}

// The station of a new player, to be connected; -1 for a fault. Before the reset.
int conic_add_player(Cluster* cluster, uint32_t credits) {
    return guarded([&] { return static_cast<int>(cluster->add_player(credits)); }, -1);
}

// Queues packets, each of some flits of `data` one after the other, and each on a channel.
int conic_play(Cluster* cluster, uint32_t player, const uint8_t* data, const uint32_t* n_flits, const uint8_t* vcs,
               uint32_t n_packets, uint32_t flit_bytes) {
    return guarded([&] {
        for (uint32_t packet = 0; packet < n_packets; ++packet) {
            cluster->player(player).send(vcs[packet], data, n_flits[packet]);
            data += uint64_t{n_flits[packet]} * flit_bytes;
        }
    });
}

int conic_open_waves(Cluster* cluster, const char* path, uint64_t first, uint64_t last) {
    return guarded([&] { cluster->open_waves(path, first, last); });
}

}
