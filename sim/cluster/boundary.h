// All outputs of a model, to see that they come from registers: applying inputs must not change them. That is what makes
// models that are evaluated apart equal to one flat design (docs/cluster.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "VNic.h"
#include "VSwitch.h"
#include "fault.h"
#include "shape.h"

namespace conic {

class Boundary {
public:
    explicit Boundary(const VNic& top) {
        registers(top);
        add("link", top.m_axis_tx_tvalid, top.m_axis_tx_tlast, top.m_axis_tx_tuser, top.m_axis_tx_tdata,
            top.s_axis_rx_tready, top.rx_credit_valid, top.rx_credit_vc);
        add("m_axi_aw", top.m_axi_awvalid, top.m_axi_awid, top.m_axi_awaddr, top.m_axi_awlen, top.m_axi_awsize,
            top.m_axi_awburst);
        add("m_axi_w", top.m_axi_wvalid, top.m_axi_wdata, top.m_axi_wstrb, top.m_axi_wlast);
        add("m_axi_ar", top.m_axi_arvalid, top.m_axi_arid, top.m_axi_araddr, top.m_axi_arlen, top.m_axi_arsize,
            top.m_axi_arburst);
        add("m_axi_b and m_axi_r", top.m_axi_bready, top.m_axi_rready);
        add("irq", top.irq);
    }

    explicit Boundary(const VSwitch& top) {
        registers(top);
#define CONIC_PORT(p)                                                                                                     \
    add("link " #p, top.m_axis_tx##p##_tvalid, top.m_axis_tx##p##_tlast, top.m_axis_tx##p##_tuser,                        \
        top.m_axis_tx##p##_tdata, top.s_axis_rx##p##_tready, top.rx##p##_credit_valid, top.rx##p##_credit_vc);
        CONIC_SWITCH_PORTS(CONIC_PORT)
#undef CONIC_PORT
    }

    // Before inputs are applied.
    void sample() {
        for (Port& port : ports_) std::memcpy(port.before, port.now, port.bytes);
    }

    // After they have been, and have settled, before the clock edge.
    void check(const std::string& name) const {
        for (const Port& port : ports_)
            if (std::memcmp(port.before, port.now, port.bytes))
                throw Fault(name + " " + port.group + ": an output follows an input within a cycle");
    }

private:
    struct Port {
        const char* group;
        const void* now;
        size_t bytes;
        uint8_t before[kFlitBytes > 8 ? kFlitBytes : 8];
    };

    template <class Top>
    void registers(const Top& top) {
        add("s_axil", top.s_axil_awready, top.s_axil_wready, top.s_axil_bvalid, top.s_axil_bresp, top.s_axil_arready,
            top.s_axil_rvalid, top.s_axil_rdata, top.s_axil_rresp);
    }

    template <class... Value>
    void add(const char* group, const Value&... values) {
        (ports_.push_back({group, &values, sizeof(values), {}}), ...);
    }

    std::vector<Port> ports_;
};

}  // namespace conic
