// A Verilated model as the cluster sees it: pins and clock edges. What is behind it is compiled apart, once for each
// configuration (nic_model.cpp, switch_model.cpp); everything else in this folder is compiled once for all of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace conic {

constexpr unsigned kMostFlitBytes = 64;
constexpr unsigned kHeaderBytes = 32;

// A port of the model of 1 to 8 bytes, as Verilator holds it.
struct Pin {
    void* at = nullptr;
    uint8_t bytes = 0;

    template <class Value>
    static Pin of(Value& value) { return {const_cast<std::remove_const_t<Value>*>(&value), sizeof(value)}; }

    uint64_t get() const {
        uint64_t value = 0;
        std::memcpy(&value, at, bytes);
        return value;
    }
    void set(uint64_t value) const { std::memcpy(at, &value, bytes); }
};

// Both directions of a link at one port.
struct LinkPins {
    // Driven by the model.
    const uint8_t *tx_valid, *tx_last, *tx_vc;
    const void* tx_data;
    const uint8_t *rx_ready, *rx_credit_valid, *rx_credit_vc;
    // Driven by the cluster.
    uint8_t *tx_ready, *tx_credit_valid, *tx_credit_vc;
    uint8_t *rx_valid, *rx_last, *rx_vc;
    void* rx_data;
    // Words of a reliable link, `last` for control words: they never wait, and say nothing of packets.
    bool words = false;
};

// The AXI4 manager port of a NIC.
struct AxiPins {
    const uint8_t *arvalid, *arlen, *arsize, *arburst, *awvalid, *awlen, *awsize, *awburst;
    const uint8_t *wvalid, *wlast, *rready, *bready;
    const uint64_t *araddr, *awaddr;
    const void* wdata;
    Pin wstrb;
    uint8_t *arready, *awready, *wready, *rvalid, *rlast, *rresp, *rid, *bvalid, *bresp, *bid;
    void* rdata;
};

// The AXI4-Lite subordinate port of a NIC or a switch.
struct RegisterPins {
    const uint8_t *awready, *wready, *bvalid, *bresp, *arready, *rvalid, *rresp;
    const uint32_t *rdata;
    uint8_t *awvalid, *awprot, *wvalid, *wstrb, *bready, *arvalid, *arprot, *rready;
    Pin awaddr, araddr;
    uint32_t* wdata;
};

// What an offload unit says of itself, for timelines.
struct TracePins {
    const uint8_t* valid;
    Pin event, job_id, pulse, index;
};

// An output, for the check that it follows no input.
struct OutputPin {
    const char* name;
    const void* at;
    size_t bytes;
};

// Inputs reach the hardware through registers that a clock of their own loads (rtl/emit.py, `simulation_verilog`): so
// nothing inside follows a port, and a cycle is one evaluation.
class Model {
public:
    virtual ~Model() = default;

    // Takes the inputs: what follows from them settles. No output changes.
    virtual void latch() = 0;
    // A clock edge with the inputs taken last.
    virtual void clock() = 0;
    // A clock edge with the inputs taken last; takes the inputs of the cycle that it begins.
    virtual void step() = 0;

    // Whether an assertion of the RTL has failed.
    virtual bool failed() const = 0;
    // A hash of everything that the model holds, with all inputs 0.
    virtual uint64_t fingerprint() = 0;
    // Bytes of the model.
    virtual size_t bytes() const = 0;

    std::vector<LinkPins> links;
    RegisterPins registers{};
    AxiPins memory{};                // NICs only
    std::vector<TracePins> units;    // NICs only
    std::vector<OutputPin> outputs;
    uint8_t* reset = nullptr;
    uint8_t* clk = nullptr;
    const uint8_t* quiescent = nullptr;
    uint32_t* skipped = nullptr;     // NICs only: cycles that were not evaluated, for the cycle counter
    unsigned flit_bytes = 0;
};

// `context` is that of the waveform, or null for one of the model's own: models may then be evaluated on different threads.
std::unique_ptr<Model> make_nic(const std::string& name, uint64_t seed, void* context);
std::unique_ptr<Model> make_switch(const std::string& name, uint64_t seed, void* context);

// Waveforms of several models in one file; nothing without support for them.
class Waves {
public:
    virtual ~Waves() = default;
    virtual void* context() = 0;  // that all models of one waveform share
    virtual void add(Model& model) = 0;
    virtual void open(const char* path) = 0;
    virtual void dump(uint64_t time) = 0;
    virtual void close() = 0;
};
std::unique_ptr<Waves> make_waves();

}  // namespace conic
