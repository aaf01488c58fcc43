// A cluster: NICs with their hosts, switches, and the links between them, advanced one clock at a time.
//
// Every output of a NIC and of a switch is a function of its registers. A cycle therefore is: take what everybody drives,
// hand it to whoever it is for, then clock everybody. No order of evaluation can make a difference.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "VNic.h"
#include "VSwitch.h"
#include "axi_rules.h"
#include "boundary.h"
#include "event.h"
#include "fault.h"
#include "link.h"
#include "memory.h"
#include "register_port.h"
#include "shape.h"
#if CONIC_TRACE
#include "verilated_fst_c.h"
#endif

namespace conic {

struct Node {
    Node(VerilatedContext* context, uint32_t number, uint64_t memory_bytes, const MemoryTiming& timing, uint64_t seed)
        : name("nic" + std::to_string(number)), top(context, name.c_str()), boundary(top),
          memory(memory_bytes, timing, seed), rules(name) {}

    std::string name;
    VNic top;
    Boundary boundary;
    AxiMemory<VNic> memory;
    AxiRules<VNic> rules;
    RegisterPort<VNic> registers;
    PacketWatch sent{EventKind::kTransmit, EventKind::kTransmitEnd};
    PacketWatch received{EventKind::kReceive, EventKind::kReceiveEnd};
    std::unordered_map<uint64_t, bool> watches;  // address of a word, has it been written
};

struct Fabric {
    Fabric(VerilatedContext* context, uint32_t number)
        : name("switch" + std::to_string(number)), top(context, name.c_str()), boundary(top) {}

    std::string name;
    VSwitch top;
    Boundary boundary;
    RegisterPort<VSwitch> registers;
};

// One end of a cable: port of a switch, or (switch_number < 0) a NIC.
struct End {
    int node = -1;
    int switch_number = -1;
    int port = 0;
};

struct Cable {
    End from, to;
    Link link;
};

class Cluster {
public:
    Cluster(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, const MemoryTiming& timing, uint64_t seed);
    ~Cluster();

    // Adds both directions of a cable.
    void connect(const End& a, const End& b, const LinkTiming& timing, uint64_t seed);
    // The three below throw Fault if some model breaks a rule.
    // Clocks everybody with reset held.
    void reset(uint64_t cycles);
    // Runs until every watched word has been written and all register accesses are done, or `most` cycles have passed.
    // Returns whether the former.
    bool run(uint64_t most);
    // Runs for a number of cycles, whatever happens.
    void step(uint64_t cycles) {
        for (uint64_t n = 0; n < cycles; ++n) cycle();
    }
    void watch(uint32_t node, uint64_t address);
    // From now on every cycle checks that no output follows an input.
    void check_boundary() { checking_ = true; }

    uint64_t now() const { return now_; }
    Node& node(uint32_t number) { return *nodes_[number]; }
    Fabric& fabric(uint32_t number) { return *switches_[number]; }
    EventLog& log() { return log_; }
    void log_events(bool on) { logging_ = on; }
    void open_waves(const char* path);

private:
    void cycle();
    void move_flits(Cable& cable);
    void clock(uint8_t level);
    void check_outputs() const;
    std::string describe(const End& end) const;

    std::unique_ptr<VerilatedContext> context_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<Fabric>> switches_;
    std::vector<std::unique_ptr<Cable>> cables_;
    EventLog log_;
    bool logging_ = false;
    bool checking_ = false;
    bool resetting_ = false;  // not in the waveform, where time begins when reset ends
    uint64_t now_ = 0;
    uint64_t waiting_ = 0;  // watched words that have not been written
#if CONIC_TRACE
    std::unique_ptr<VerilatedFstC> waves_;
#endif
};

}  // namespace conic
