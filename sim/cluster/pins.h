// The ports of a model by their names, as the cluster wants them.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "model.h"

namespace conic {

class Pins {
public:
    void add(const std::string& name, void* at, size_t bytes) {
        pins_[name] = {at, static_cast<uint8_t>(bytes < 256 ? bytes : 0)};
    }

    // `words`: links carry words of reliable links.
    void bind(Model& model, unsigned flit_bytes, bool words) const {
        model.flit_bytes = flit_bytes;
        model.reset = byte("rst");
        const std::string s = "s_axil_";
        model.registers = {
            byte(s + "awready"), byte(s + "wready"), byte(s + "bvalid"), byte(s + "bresp"), byte(s + "arready"),
            byte(s + "rvalid"), byte(s + "rresp"), at<uint32_t>(s + "rdata"), byte(s + "awvalid"), byte(s + "awprot"),
            byte(s + "wvalid"), byte(s + "wstrb"), byte(s + "bready"), byte(s + "arvalid"), byte(s + "arprot"),
            byte(s + "rready"), pin(s + "awaddr"), pin(s + "araddr"), at<uint32_t>(s + "wdata"),
        };
        if (pins_.count("m_axi_arvalid")) bind_nic(model);
        if (pins_.count("m_axis_tx_tvalid")) model.links.push_back(link("", words));
        for (unsigned port = 0; pins_.count("m_axis_tx" + std::to_string(port) + "_tvalid"); ++port)
            model.links.push_back(link(std::to_string(port), words));
    }

private:
    const Pin& pin(const std::string& name) const {
        const auto found = pins_.find(name);
        if (found == pins_.end()) throw std::logic_error("a model has no port " + name);
        return found->second;
    }
    template <class Value>
    Value* at(const std::string& name) const { return static_cast<Value*>(pin(name).at); }
    uint8_t* byte(const std::string& name) const { return at<uint8_t>(name); }

    LinkPins link(const std::string& port, bool words) const {
        const std::string tx = "m_axis_tx" + port + "_", rx = "s_axis_rx" + port + "_";
        return {
            byte(tx + "tvalid"), byte(tx + "tlast"), byte(tx + "tuser"), pin(tx + "tdata").at, byte(rx + "tready"),
            byte("rx" + port + "_credit_valid"), byte("rx" + port + "_credit_vc"), byte(tx + "tready"),
            byte("tx" + port + "_credit_valid"), byte("tx" + port + "_credit_vc"), byte(rx + "tvalid"), byte(rx + "tlast"),
            byte(rx + "tuser"), pin(rx + "tdata").at, words,
        };
    }

    void bind_nic(Model& model) const {
        const std::string m = "m_axi_";
        model.memory = {
            byte(m + "arvalid"), byte(m + "arlen"), byte(m + "arsize"), byte(m + "arburst"),
            byte(m + "awvalid"), byte(m + "awlen"), byte(m + "awsize"), byte(m + "awburst"),
            byte(m + "wvalid"), byte(m + "wlast"), byte(m + "rready"), byte(m + "bready"),
            at<uint64_t>(m + "araddr"), at<uint64_t>(m + "awaddr"), pin(m + "wdata").at, pin(m + "wstrb"),
            byte(m + "arready"), byte(m + "awready"), byte(m + "wready"), byte(m + "rvalid"), byte(m + "rlast"),
            byte(m + "rresp"), byte(m + "rid"), byte(m + "bvalid"), byte(m + "bresp"), byte(m + "bid"), pin(m + "rdata").at,
        };
        for (unsigned unit = 0;; ++unit) {
            const std::string trace = "trace_" + std::to_string(unit) + "_";
            if (!pins_.count(trace + "valid")) break;
            model.units.push_back({
                byte(trace + "valid"), pin(trace + "event"), pin(trace + "job_id"), pin(trace + "pulse"), pin(trace + "index"),
            });
        }
    }

    std::map<std::string, Pin> pins_;
};

}  // namespace conic
