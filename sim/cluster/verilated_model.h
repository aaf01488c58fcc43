// What the Verilated models of NICs and switches have in common. `ports.h` and `state.h` are generated (build.py): the
// ports of the top, and runs of members that stand behind each other and hold state or what follows from it.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "model.h"
#include "verilated.h"
#if CONIC_TRACE
#include "verilated_fst_c.h"
#endif

namespace conic {

inline uint64_t mix(uint64_t hash, const void* data, size_t bytes) {
    const auto* at = static_cast<const uint8_t*>(data);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15;
        hash ^= hash >> 29;
    }
    for (; bytes; --bytes) hash = (hash ^ *at++) * 0x100000001B3;
    return hash;
}

// In the constructor of a model: everything that ports.h says of its top.
#define CONIC_ADD_INPUT(port) input(top_->port);
#define CONIC_ADD_OUTPUT(port) output(#port, top_->port);
#define CONIC_ADD_PORTS                 \
    flit_bytes = CONIC_FLIT_BYTES;      \
    CONIC_INPUTS(CONIC_ADD_INPUT)       \
    CONIC_OUTPUTS(CONIC_ADD_OUTPUT)

// What every Verilated class can be asked, so that waveforms take models of several classes.
class Traced {
public:
    virtual ~Traced() = default;
    virtual void trace(void* waves) = 0;
};

template <class Top>
class VerilatedModel : public Model, public Traced {
public:
    VerilatedModel(const std::string& name, uint64_t seed, void* context)
        : own_(context ? nullptr : new VerilatedContext),
          context_(context ? static_cast<VerilatedContext*>(context) : own_.get()) {
        // A failed assertion is a fault of this simulation, not the end of the process.
        context_->fatalOnError(false);
        // Registers without reset start with random values: a result that depends on one would show.
        context_->randReset(2);
        context_->randSeed(static_cast<int>(seed % 0x7FFFFFFE) + 1);
        top_.reset(new Top(context_, name.c_str()));
        reset = &top_->rst;
        clk = &top_->clk;
        quiescent = &top_->quiescent;
    }

    void latch() override {
        top_->in_clk = 1;
        top_->eval();
        top_->in_clk = 0;
        top_->eval();
    }
    void clock() override {
        top_->clk = 1;
        top_->eval();
        top_->clk = 0;
        top_->eval();
    }
    void step() override {
        top_->clk = top_->in_clk = 1;
        top_->eval();
        top_->clk = top_->in_clk = 0;
#if CONIC_TRACE
        top_->eval();
#else
        // Nothing follows a falling edge: the model is told that there was one, and is not evaluated for it.
        top_->rootp->__Vtrigprevexpr___TOP__clk__0 = top_->rootp->__Vtrigprevexpr___TOP__in_clk__0 = 0;
#endif
    }
    bool failed() const override { return context_->gotError(); }

    uint64_t fingerprint() override {
        std::vector<std::vector<uint8_t>> before;
        for (const Input& input : inputs_) {
            before.emplace_back(input.at, input.at + input.bytes);
            std::memset(input.at, 0, input.bytes);
        }
        latch();
        const uint64_t hash = hash_state();
        for (size_t n = 0; n < inputs_.size(); ++n) std::copy(before[n].begin(), before[n].end(), inputs_[n].at);
        latch();
        return hash;
    }

    void trace(void* waves) override {
#if CONIC_TRACE
        top_->trace(static_cast<VerilatedFstC*>(waves), 99);
#else
        (void)waves;
#endif
    }

protected:
    struct Input {
        uint8_t* at;
        size_t bytes;
    };

    virtual uint64_t hash_state() const = 0;

    template <class Value>
    void input(Value& value) {
        inputs_.push_back({reinterpret_cast<uint8_t*>(&value), sizeof(value)});
        std::memset(&value, 0, sizeof(value));  // it began with a random value
    }
    template <class Value>
    void output(const char* name, const Value& value) { outputs.push_back({name, &value, sizeof(value)}); }

    template <class Awaddr>
    void add_registers(Awaddr& awaddr, Awaddr& araddr) {
        registers = {
            &top_->s_axil_awready, &top_->s_axil_wready, &top_->s_axil_bvalid, &top_->s_axil_bresp, &top_->s_axil_arready,
            &top_->s_axil_rvalid, &top_->s_axil_rresp, &top_->s_axil_rdata, &top_->s_axil_awvalid, &top_->s_axil_awprot,
            &top_->s_axil_wvalid, &top_->s_axil_wstrb, &top_->s_axil_bready, &top_->s_axil_arvalid, &top_->s_axil_arprot,
            &top_->s_axil_rready, Pin::of(awaddr), Pin::of(araddr), &top_->s_axil_wdata,
        };
    }

    std::unique_ptr<VerilatedContext> own_;
    VerilatedContext* context_;
    std::unique_ptr<Top> top_;

private:
    std::vector<Input> inputs_;
};

}  // namespace conic
