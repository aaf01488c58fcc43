// Models as the cluster sees them: pins and clock edges. What is behind them is compiled apart, once for each configuration;
// everything else in this folder is compiled once for all of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace conic {

constexpr unsigned kMostFlitBytes = 64;
constexpr unsigned kHeaderBytes = 32;

// A port of the model of 1 to 8 bytes.
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

// A register, or the words of a memory one behind the other: values in words of 64 bits, lowest first.
struct Register {
    size_t n_words = 0;
    // The bits that the model has; others have been left out, for nothing follows them.
    std::vector<uint64_t> known;
    std::function<void(uint64_t*)> get;
    std::function<void(const uint64_t*)> set;
    unsigned width = 0;
    bool is_memory = false;
    std::string identity;  // where it stands: the same for all names of a register
};

// One NIC or switch as the cluster sees it: its pins.
class Model {
public:
    virtual ~Model() = default;

    // The text of an assertion of the RTL that has failed; null if none has.
    virtual const char* failed() const = 0;
    // Whether no clock edge changes anything, but for what counts cycles, as long as the inputs are as they are now. Models
    // that do not know say no.
    virtual bool still() const { return false; }
    // A hash of everything that the model holds, with all inputs 0.
    virtual uint64_t fingerprint() = 0;
    // Bytes of the model.
    virtual size_t bytes() const = 0;

    // Registers and memories by their names, as far as the model knows them.
    virtual std::vector<std::string> register_names() { return {}; }
    virtual Register find_register(const std::string& name) { throw std::out_of_range("there is no register " + name); }

    std::vector<LinkPins> links;
    RegisterPins registers{};
    AxiPins memory{};                // NICs only
    std::vector<TracePins> units;    // NICs only
    std::vector<OutputPin> outputs;
    uint8_t* reset = nullptr;
    unsigned flit_bytes = 0;
};

// Models whose clock edges come together, in the lanes of one word or alone. Nothing inside follows a pin before inputs are
// taken: so a cycle is one evaluation.
class Bank {
public:
    virtual ~Bank() = default;

    virtual unsigned size() const = 0;
    virtual Model& model(unsigned lane) = 0;

    // Takes the inputs: what follows from them settles. No output changes.
    virtual void latch() = 0;
    // A clock edge with the inputs taken last.
    virtual void clock() = 0;
    // A clock edge with the inputs taken last; takes the inputs of the cycle that it begins. `skipped` cycles were not
    // evaluated before it, for all models were still.
    virtual void step(uint64_t skipped) = 0;
    // For clusters that share a word: lane `lane` becomes what a lane of another bank of the same design is; and the inputs
    // of a lane of another one are copied.
    virtual void adopt(unsigned, const Bank&, unsigned) { throw std::logic_error("this bank has no lanes"); }
    virtual void copy_inputs(unsigned, const Bank&, unsigned) { throw std::logic_error("this bank has no lanes"); }
    // From now on every part is evaluated in every cycle, whether something in it can have changed or not.
    virtual void leave_nothing_out() {}
    // Nobody looks at a lane any more: it is held in reset, which costs nothing.
    virtual void retire(unsigned) {}
    // For waveforms: the level of the clock, when an edge has been carried out already.
    virtual void show_clock(bool) {}
};

// A model's name, and the seed of its registers without reset; 0: they begin with 0.
struct Born {
    std::string name;
    uint64_t seed;
};

// NICs or switches of one word. `context` is that of the waveform, or
// null for one of their own: banks may then be evaluated on different threads.
std::unique_ptr<Bank> make_nics(const std::vector<Born>& born, void* context);
std::unique_ptr<Bank> make_switches(const std::vector<Born>& born, void* context);
// How many of them a word has room for.
extern const unsigned kNicLanes, kSwitchLanes;

// Waveforms of several models in one file; nothing without support for them.
class Waves {
public:
    virtual ~Waves() = default;
    virtual void* context() = 0;  // that all models of one waveform share
    virtual void add(Model& model, const std::string& name) = 0;
    virtual void open(const char* path) = 0;
    virtual void dump(uint64_t time) = 0;
    virtual void close() = 0;
};
std::unique_ptr<Waves> make_waves();

}  // namespace conic
