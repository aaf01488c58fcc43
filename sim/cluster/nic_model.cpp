// The Verilated NIC behind the interface of model.h.
#include "VNic.h"
#include "ports.h"
#include "state.h"
#include "verilated_model.h"

namespace conic {

namespace {

class NicModel : public VerilatedModel<VNic> {
public:
    NicModel(const std::string& name, uint64_t seed, void* context) : VerilatedModel(name, seed, context) {
        VNic& top = *top_;
        CONIC_ADD_PORTS
        links.push_back({
            &top.m_axis_tx_tvalid, &top.m_axis_tx_tlast, &top.m_axis_tx_tuser, &top.m_axis_tx_tdata,
            &top.s_axis_rx_tready, &top.rx_credit_valid, &top.rx_credit_vc,
            &top.m_axis_tx_tready, &top.tx_credit_valid, &top.tx_credit_vc,
            &top.s_axis_rx_tvalid, &top.s_axis_rx_tlast, &top.s_axis_rx_tuser, &top.s_axis_rx_tdata, CONIC_WORDS,
        });
        add_registers(top.s_axil_awaddr, top.s_axil_araddr);
        memory = {
            &top.m_axi_arvalid, &top.m_axi_arlen, &top.m_axi_arsize, &top.m_axi_arburst,
            &top.m_axi_awvalid, &top.m_axi_awlen, &top.m_axi_awsize, &top.m_axi_awburst,
            &top.m_axi_wvalid, &top.m_axi_wlast, &top.m_axi_rready, &top.m_axi_bready,
            &top.m_axi_araddr, &top.m_axi_awaddr, &top.m_axi_wdata, Pin::of(top.m_axi_wstrb),
            &top.m_axi_arready, &top.m_axi_awready, &top.m_axi_wready, &top.m_axi_rvalid, &top.m_axi_rlast,
            &top.m_axi_rresp, &top.m_axi_rid, &top.m_axi_bvalid, &top.m_axi_bresp, &top.m_axi_bid, &top.m_axi_rdata,
        };
#define CONIC_UNIT(c)                                                                                                     \
    units.push_back({&top.trace_##c##_valid, Pin::of(top.trace_##c##_event), Pin::of(top.trace_##c##_job_id),             \
                     Pin::of(top.trace_##c##_pulse), Pin::of(top.trace_##c##_index)});
        CONIC_UNITS(CONIC_UNIT)
#undef CONIC_UNIT
        skipped = &top.skipped;
    }

    size_t bytes() const override { return state_bytes(*top_); }

private:
    uint64_t hash_state() const override { return state_hash(*top_); }
};

}  // namespace

std::unique_ptr<Model> make_nic(const std::string& name, uint64_t seed, void* context) {
    return std::make_unique<NicModel>(name, seed, context);
}

}  // namespace conic
