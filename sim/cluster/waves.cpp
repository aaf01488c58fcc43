// Waveforms of a whole cluster, where the models are built with support for them.
#include "model.h"
#include "traced.h"
#if CONIC_TRACE
#include "verilated_fst_c.h"
#endif

namespace conic {

#if CONIC_TRACE

namespace {

class FstWaves : public Waves {
public:
    FstWaves() { context_.traceEverOn(true); }
    void* context() override { return &context_; }
    void add(Model& model, const std::string&) override { dynamic_cast<Traced&>(model).trace(&fst_); }
    void open(const char* path) override { fst_.open(path); }
    void dump(uint64_t time) override { fst_.dump(time); }
    void close() override { fst_.close(); }

private:
    VerilatedContext context_;
    VerilatedFstC fst_;
};

}  // namespace

std::unique_ptr<Waves> make_waves() { return std::make_unique<FstWaves>(); }

#else

std::unique_ptr<Waves> make_waves() { return nullptr; }

#endif

}  // namespace conic
