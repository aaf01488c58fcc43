// A Verilated NIC or switch behind the interface of model.h. `ports.h` and `state.h` are generated (verilated.py): what the
// top is called, its ports, and what its members are.
#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "pins.h"
#include "ports.h"
#include "state.h"
#include "traced.h"
#include "verilated.h"
#if CONIC_TRACE
#include "verilated_fst_c.h"
#endif

// What Verilator calls once, before the first cycle: works out all that follows from registers.
void CONIC_SETTLE(std::remove_reference_t<decltype(*CONIC_TOP::rootp)>* root);

namespace conic {

namespace {

class VerilatedBank : public Bank, public Model, public Traced {
public:
    VerilatedBank(const std::string& name, uint64_t seed, void* context)
        : own_(context ? nullptr : new VerilatedContext),
          context_(context ? static_cast<VerilatedContext*>(context) : own_.get()) {
        // A failed assertion is a fault of this simulation, not the end of the process.
        context_->fatalOnError(false);
        // Registers without reset start with random values: a result that depends on one would show.
        context_->randReset(seed ? 2 : 0);
        context_->randSeed(static_cast<int>(seed % 0x7FFFFFFE) + 1);
        top_.reset(new CONIC_TOP(context_, name.c_str()));
        Pins pins;
#define CONIC_INPUT(port)                              \
        pins.add(#port, &top_->port, sizeof(top_->port)); \
        input(top_->port);
#define CONIC_OUTPUT(port)                             \
        pins.add(#port, &top_->port, sizeof(top_->port)); \
        outputs.push_back({#port, &top_->port, sizeof(top_->port)});
        CONIC_INPUTS(CONIC_INPUT)
        CONIC_OUTPUTS(CONIC_OUTPUT)
        pins.bind(*this, CONIC_FLIT_BYTES, CONIC_WORDS);
        // Verilator compares clocks with what they were in the evaluation before: without this one it would not see the
        // first edge, with which reset comes.
        top_->clk = top_->in_clk = 0;
        top_->eval();
        for (const RegisterAt& each : registers_of(*top_)) registers_at_.emplace(each.name, each);
    }

    unsigned size() const override { return 1; }
    Model& model(unsigned) override { return *this; }

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
    void step(uint64_t) override {
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
    void show_clock(bool level) override {
        top_->clk = level;
        // The edge was before: nothing moves, but Verilator only looks at what was evaluated since the last dump.
        if (!level) latch();
    }

    // Verilator has printed which.
    const char* failed() const override { return context_->gotError() ? "the lines above say which" : nullptr; }

    uint64_t fingerprint() override {
        std::vector<std::vector<uint8_t>> before;
        for (const Input& input : inputs_) {
            before.emplace_back(input.at, input.at + input.bytes);
            std::memset(input.at, 0, input.bytes);
        }
        latch();
        const uint64_t hash = state_hash(*top_);
        for (size_t n = 0; n < inputs_.size(); ++n) std::copy(before[n].begin(), before[n].end(), inputs_[n].at);
        latch();
        return hash;
    }

    size_t bytes() const override { return state_bytes(*top_); }

    std::vector<std::string> register_names() override {
        std::vector<std::string> names;
        for (const auto& [name, _] : registers_at_) names.push_back(name);
        return names;
    }
    Register find_register(const std::string& name) override {
        const auto found = registers_at_.find(name);
        if (found == registers_at_.end()) return Model::find_register(name);
        Register made = found->second.as_register();
        made.set = [this, put = made.set](const uint64_t* words) {
            put(words);
            CONIC_SETTLE(top_->rootp);
        };
        return made;
    }

    void trace(void* waves) override {
#if CONIC_TRACE
        top_->trace(static_cast<VerilatedFstC*>(waves), 99);
#else
        (void)waves;
#endif
    }

private:
    struct Input {
        uint8_t* at;
        size_t bytes;
    };

    template <class Value>
    void input(Value& value) {
        inputs_.push_back({reinterpret_cast<uint8_t*>(&value), sizeof(value)});
        std::memset(&value, 0, sizeof(value));  // it began with a random value
    }

    std::unique_ptr<VerilatedContext> own_;
    VerilatedContext* context_;
    std::unique_ptr<CONIC_TOP> top_;
    std::vector<Input> inputs_;
    std::unordered_map<std::string, RegisterAt> registers_at_;
};

}  // namespace

extern const unsigned CONIC_LANES;
const unsigned CONIC_LANES = 1;

std::unique_ptr<Bank> CONIC_MAKE(const std::vector<Born>& born, void* context) {
    return std::make_unique<VerilatedBank>(born.front().name, born.front().seed, context);
}

}  // namespace conic
