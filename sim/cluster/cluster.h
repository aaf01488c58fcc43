// A cluster: NICs with their hosts, switches, and the links between them.
//
// Every output of a NIC and of a switch is a function of its registers, and a link takes some cycles. So each word of stations
// goes ahead by itself for a window of as many cycles as the fastest link takes, on any of several threads; between windows
// they exchange what they have sent. Links of no latency, the check of the boundary, and the cycles of a waveform want
// lockstep: every cycle of all words before the next one of any. Both ways do the same, register for register
// (docs/cluster.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event.h"
#include "fault.h"
#include "node.h"
#include "pack.h"
#include "player.h"
#include "station.h"
#include "word.h"
#include "workers.h"

namespace conic {

// How a cluster is carried out; none of it changes what happens.
struct Execution {
    unsigned threads = 1;
    bool skip = true;      // leave out cycles in which a model cannot change, and parts of models likewise
    bool lockstep = false;
};

class Cluster : public Beside {
public:
    Cluster(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, const MemoryTiming& memory, const LinkTiming& links,
            uint64_t seed, const Execution& execution, bool random_start, Pack* pack);
    ~Cluster() override;

    // Adds both directions of a cable: two stations (NICs first, then switches) and a port of each.
    void connect(uint32_t a, unsigned a_port, uint32_t b, unsigned b_port, uint64_t seed);
    // Adds a station that is only played, behind all others; its links have so many flits of credit a channel.
    uint32_t add_player(unsigned credits);
    // The three below throw Fault if some model breaks a rule.
    void reset();
    // Runs until every watched word has been written and all register accesses are done, or `most` cycles have passed.
    // Returns whether the former. Looked at after each window: `settled_at` has the cycle in which it was so.
    bool run(uint64_t most);
    // Runs until one station's register accesses are done, or for `most` cycles. Returns whether the former.
    bool await_registers(const Station& station, uint64_t most);
    // Runs for a number of cycles, whatever happens.
    void step(uint64_t cycles);
    // From now on every cycle checks that no output follows an input.
    void check_boundary() { checking_ = true; }

    uint64_t now() const override { return now_; }
    uint64_t settled_at() const { return settled_at_; }
    // What wires of reliable links do from now on, but for what is cut.
    void set_wires(const WireRates& rates);
    // Words or frames that were damaged in one way.
    uint64_t damaged(WireFault kind) const {
        uint64_t sum = 0;
        for (const auto& station : stations_) sum += station->damaged(kind);
        return sum;
    }
    // A NIC, or a switch. They throw Fault if there is none of that number.
    Node& node(uint32_t number) {
        check("node", number, nodes_.size());
        return *nodes_[number];
    }
    Station& station(bool is_switch, uint32_t number) {
        check(is_switch ? "switch" : "node", number,
              is_switch ? stations_.size() - nodes_.size() - players_.size() : nodes_.size());
        return *stations_[is_switch ? nodes_.size() + number : number];
    }
    // The same, with all cycles evaluated that were left out: its registers can be looked at.
    Station& look_at(bool is_switch, uint32_t number) {
        catch_up();
        return station(is_switch, number);
    }
    Player& player(uint32_t number) {
        check("player", number, players_.size());
        return *players_[number];
    }
    // The events of all stations since the last call, in order of time.
    EventLog& collect_log();
    // What has been written to observed ranges since the last call, in order of time.
    EventLog& collect_landed();
    const EventLog& landed() const { return landed_; }
    void log_events(bool on);
    // Writes a waveform of cycles [first, last), or of those of them that there are; no file if there are none.
    void open_waves(const char* path, uint64_t first, uint64_t last);
    // A hash of everything that all models hold.
    uint64_t fingerprint();
    uint64_t evaluated() const;
    size_t bytes_a_node() const;

private:
    static void check(const char* what, uint32_t number, size_t count) {
        if (number >= count)
            throw Fault(std::string(what) + " must be below " + std::to_string(count) + ", not " + std::to_string(number));
    }
    void catch_up();
    void add_nodes_beside(uint32_t count, uint64_t seed, uint64_t memory_bytes);
    std::vector<Born> born(uint32_t first, uint32_t last, bool is_switch, uint64_t seed) const;
    void add_node(uint32_t number, Model& model, uint64_t memory_bytes, uint64_t seed);
    void add_words(uint32_t count, unsigned lanes, bool is_switch, uint64_t seed, uint64_t memory_bytes);
    void count_words();
    void carry_out(std::function<bool()> done, uint64_t end, uint64_t most = UINT64_MAX);
    void window(uint64_t cycles);
    uint64_t begin_window(uint64_t cycles) override;
    void end_window() override;
    void window_apart(uint64_t length);
    bool in_lockstep(uint64_t length) const;
    void cycle_in_lockstep();
    void dump();
    void share(unsigned thread);
    void leap(uint64_t until, uint64_t length);
    bool settled() const;

    MemoryTiming memory_timing_;
    LinkTiming link_timing_;
    Execution execution_;
    std::unique_ptr<Waves> waves_;
    Pack* pack_;  // where NICs are, if their word is not this cluster's alone
    uint32_t place_ = 0;
    std::vector<Born> born_beside_;
    std::vector<std::unique_ptr<Word>> words_;
    std::vector<std::unique_ptr<Station>> stations_;
    std::vector<Node*> nodes_;
    std::vector<Player*> players_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    EventLog log_, landed_;
    bool random_start_;  // of registers without reset
    bool checking_ = false, was_in_lockstep_ = false;
    uint64_t now_ = 0, settled_at_ = 0;
    Parity parity_ = 0;

    // Cycles that are still to be in the waveform, and its file, which is open from the first of them on.
    uint64_t dump_from_ = 0, dump_until_ = 0;
    std::string waves_path_;
    bool dumping_ = false;

    // Of the window that is being carried out.
    uint64_t until_ = 0;
    std::unique_ptr<std::atomic<uint64_t>[]> taken_;  // last window that each word was taken in, counted from 1
    std::atomic<uint64_t> window_number_{0};
    std::atomic<uint64_t> n_done_{0};  // words that have been carried out in it
    uint64_t evaluated_ = 0, work_ = 0;  // evaluations so far, and in the window before
    std::unique_ptr<Workers> workers_;
};

}  // namespace conic
