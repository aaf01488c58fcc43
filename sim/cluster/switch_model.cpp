// The Verilated switch behind the interface of model.h.
#include "VSwitch.h"
#include "ports.h"
#include "state.h"
#include "verilated_model.h"

namespace conic {

namespace {

class SwitchModel : public VerilatedModel<VSwitch> {
public:
    SwitchModel(const std::string& name, uint64_t seed, void* context) : VerilatedModel(name, seed, context) {
        VSwitch& top = *top_;
        CONIC_ADD_PORTS
#define CONIC_LINK(p)                                                                                                     \
    links.push_back({                                                                                                     \
        &top.m_axis_tx##p##_tvalid, &top.m_axis_tx##p##_tlast, &top.m_axis_tx##p##_tuser, &top.m_axis_tx##p##_tdata,      \
        &top.s_axis_rx##p##_tready, &top.rx##p##_credit_valid, &top.rx##p##_credit_vc, &top.m_axis_tx##p##_tready,        \
        &top.tx##p##_credit_valid, &top.tx##p##_credit_vc, &top.s_axis_rx##p##_tvalid, &top.s_axis_rx##p##_tlast,         \
        &top.s_axis_rx##p##_tuser, &top.s_axis_rx##p##_tdata, CONIC_WORDS,                                                \
    });
        CONIC_SWITCH_PORTS(CONIC_LINK)
#undef CONIC_LINK
        add_registers(top.s_axil_awaddr, top.s_axil_araddr);
    }

    size_t bytes() const override { return state_bytes(*top_); }

private:
    uint64_t hash_state() const override { return state_hash(*top_); }
};

}  // namespace

std::unique_ptr<Model> make_switch(const std::string& name, uint64_t seed, void* context) {
    return std::make_unique<SwitchModel>(name, seed, context);
}

}  // namespace conic
