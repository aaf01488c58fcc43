#include "cluster.h"

#include <cstring>

namespace conic {

namespace {

// What one end of a cable drives and takes. Pointers into the Verilated models, so that NICs and switches look alike.
struct Transmitter {
    const uint8_t *valid, *last, *vc;
    const void* data;
    uint8_t *ready, *credit_valid, *credit_vc;
};
struct Receiver {
    uint8_t *valid, *last, *vc;
    void* data;
    const uint8_t *ready, *credit_valid, *credit_vc;
};

Transmitter transmitter(VNic& top) {
    return {&top.m_axis_tx_tvalid, &top.m_axis_tx_tlast, &top.m_axis_tx_tuser, &top.m_axis_tx_tdata,
            &top.m_axis_tx_tready, &top.tx_credit_valid, &top.tx_credit_vc};
}

Receiver receiver(VNic& top) {
    return {&top.s_axis_rx_tvalid, &top.s_axis_rx_tlast, &top.s_axis_rx_tuser, &top.s_axis_rx_tdata,
            &top.s_axis_rx_tready, &top.rx_credit_valid, &top.rx_credit_vc};
}

Transmitter transmitter(VSwitch& top, int port) {
#define CONIC_PORT(p)                                                                                                     \
    case p:                                                                                                               \
        return {&top.m_axis_tx##p##_tvalid, &top.m_axis_tx##p##_tlast,  &top.m_axis_tx##p##_tuser,                        \
                &top.m_axis_tx##p##_tdata,  &top.m_axis_tx##p##_tready, &top.tx##p##_credit_valid,                        \
                &top.tx##p##_credit_vc};
    switch (port) { CONIC_SWITCH_PORTS(CONIC_PORT) }
#undef CONIC_PORT
    return {};
}

Receiver receiver(VSwitch& top, int port) {
#define CONIC_PORT(p)                                                                                                     \
    case p:                                                                                                               \
        return {&top.s_axis_rx##p##_tvalid, &top.s_axis_rx##p##_tlast,  &top.s_axis_rx##p##_tuser,                        \
                &top.s_axis_rx##p##_tdata,  &top.s_axis_rx##p##_tready, &top.rx##p##_credit_valid,                        \
                &top.rx##p##_credit_vc};
    switch (port) { CONIC_SWITCH_PORTS(CONIC_PORT) }
#undef CONIC_PORT
    return {};
}

// A port without a cable: nothing comes in, whatever goes out is taken.
template <class Top, class... Port>
void leave_open(Top& top, Port... port) {
    const Transmitter out = transmitter(top, port...);
    *out.ready = 1;
    *out.credit_valid = *out.credit_vc = 0;
    const Receiver in = receiver(top, port...);
    *in.valid = *in.last = *in.vc = 0;
    std::memset(in.data, 0, kFlitBytes);
}

void log_unit_events(VNic& top, uint64_t now, uint32_t node, EventLog& log) {
#define CONIC_UNIT(c)                                                                                                     \
    if (top.trace_##c##_valid)                                                                                            \
        log.push_back({now, node, EventKind::kUnit,                                                                       \
                       {c, top.trace_##c##_event, top.trace_##c##_job_id, top.trace_##c##_pulse, top.trace_##c##_index}});
    CONIC_UNITS(CONIC_UNIT)
#undef CONIC_UNIT
}

}  // namespace

Cluster::Cluster(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, const MemoryTiming& timing, uint64_t seed)
    : context_(new VerilatedContext) {
    context_->traceEverOn(CONIC_TRACE);
    // A failed assertion is a fault of this simulation, not the end of the process.
    context_->fatalOnError(false);
    // Registers without reset start with random values: a result that depends on one would show.
    context_->randReset(2);
    context_->randSeed(static_cast<int>(seed & 0x7FFFFFFF) | 1);
    for (uint32_t n = 0; n < nodes; ++n)
        nodes_.emplace_back(new Node(context_.get(), n, memory_bytes, timing, seed * 1000003 + n));
    for (uint32_t s = 0; s < switches; ++s) switches_.emplace_back(new Fabric(context_.get(), s));
    for (auto& node : nodes_) leave_open(node->top);
#define CONIC_PORT(p) \
    for (auto& fabric : switches_) leave_open(fabric->top, p);
    CONIC_SWITCH_PORTS(CONIC_PORT)
#undef CONIC_PORT
}

Cluster::~Cluster() {
#if CONIC_TRACE
    if (waves_) waves_->close();
#endif
}

void Cluster::connect(const End& a, const End& b, const LinkTiming& timing, uint64_t seed) {
    cables_.emplace_back(new Cable{a, b, Link(timing, seed * 2 + 1)});
    cables_.emplace_back(new Cable{b, a, Link(timing, seed * 2 + 2)});
}

void Cluster::watch(uint32_t node, uint64_t address) {
    const auto [entry, is_new] = nodes_[node]->watches.insert_or_assign(address, false);
    (void)entry;
    waiting_ += is_new;
}

std::string Cluster::describe(const End& end) const {
    return end.node >= 0 ? nodes_[end.node]->name
                         : switches_[end.switch_number]->name + " port " + std::to_string(end.port);
}

void Cluster::move_flits(Cable& cable) {
    const Transmitter from = cable.from.node >= 0
                                 ? transmitter(nodes_[cable.from.node]->top)
                                 : transmitter(switches_[cable.from.switch_number]->top, cable.from.port);
    const Receiver to = cable.to.node >= 0 ? receiver(nodes_[cable.to.node]->top)
                                           : receiver(switches_[cable.to.switch_number]->top, cable.to.port);
    EventLog* log = logging_ ? &log_ : nullptr;
    Link& link = cable.link;
    *from.ready = link.ready();
    if (*from.valid && link.ready()) {
        Flit flit;
        std::memcpy(flit.data, from.data, kFlitBytes);
        flit.last = *from.last;
        flit.vc = *from.vc;
        link.push(flit, now_);
        if (cable.from.node >= 0) nodes_[cable.from.node]->sent.see(flit, now_, cable.from.node, log);
    }
    if (*to.credit_valid) link.push_credit(*to.credit_vc, now_);
    link.deliver(now_);
    link.deliver_credit(now_);
    *to.valid = link.valid;
    if (link.valid) {
        if (!*to.ready) throw Fault(describe(cable.to) + " lowered the ready of a link: its credits promise room");
        std::memcpy(to.data, link.flit.data, kFlitBytes);
        *to.last = link.flit.last;
        *to.vc = link.flit.vc;
        if (cable.to.node >= 0) nodes_[cable.to.node]->received.see(link.flit, now_, cable.to.node, log);
    }
    *from.credit_valid = link.credit_valid;
    *from.credit_vc = link.credit_vc;
    link.next_cycle();
}

void Cluster::clock(uint8_t level) {
    for (auto& node : nodes_) {
        node->top.clk = level;
        node->top.eval();
    }
    for (auto& fabric : switches_) {
        fabric->top.clk = level;
        fabric->top.eval();
    }
#if CONIC_TRACE
    if (waves_ && !resetting_) waves_->dump(2 * now_ + level);
#endif
}

void Cluster::cycle() {
    EventLog* log = logging_ ? &log_ : nullptr;
    if (checking_) {
        for (auto& node : nodes_) node->boundary.sample();
        for (auto& fabric : switches_) fabric->boundary.sample();
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
        Node& node = *nodes_[n];
        node.top.rst = resetting_;
        node.memory.apply(node.top);
        node.registers.apply(node.top);
        if (resetting_) continue;
        if (log) log_unit_events(node.top, now_, n, log_);
        node.rules.check(node.top);
        node.registers.step(node.top, now_, n, log);
        node.memory.step(node.top, now_, [&](uint64_t first, uint64_t last) {
            for (auto& [address, done] : node.watches) {
                if (done || address < first || address >= last) continue;
                done = true;
                --waiting_;
                if (log) log_.push_back({now_, n, EventKind::kWatch, {address}});
            }
        });
    }
    for (auto& fabric : switches_) {
        fabric->top.rst = resetting_;
        fabric->registers.apply(fabric->top);
        if (!resetting_) fabric->registers.step(fabric->top, now_, 0, nullptr);
    }
    if (!resetting_)
        for (auto& cable : cables_) move_flits(*cable);
    clock(0);
    if (checking_ && !resetting_) check_outputs();
    clock(1);
    ++now_;
    if (context_->gotError()) throw Fault("an assertion of the RTL failed; the lines above say which");
}

void Cluster::check_outputs() const {
    for (auto& node : nodes_) node->boundary.check(node->name);
    for (auto& fabric : switches_) fabric->boundary.check(fabric->name);
}

void Cluster::reset(uint64_t cycles) {
    resetting_ = true;
    for (uint64_t n = 0; n < cycles; ++n) cycle();
    resetting_ = false;
    now_ = 0;
}

bool Cluster::run(uint64_t most) {
    auto done = [&] {
        if (waiting_) return false;
        for (auto& node : nodes_)
            if (!node->registers.idle()) return false;
        for (auto& fabric : switches_)
            if (!fabric->registers.idle()) return false;
        return true;
    };
    for (uint64_t n = 0; n < most; ++n) {
        if (done()) return true;
        cycle();
    }
    return done();
}

void Cluster::open_waves(const char* path) {
#if CONIC_TRACE
    waves_.reset(new VerilatedFstC);
    for (auto& node : nodes_) node->top.trace(waves_.get(), 99);
    for (auto& fabric : switches_) fabric->top.trace(waves_.get(), 99);
    waves_->open(path);
#else
    (void)path;
#endif
}

}  // namespace conic
