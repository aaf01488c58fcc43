// Drives a Verilated switch at full load and measures what comes out; checks every packet.
//
//   Vconic_switch PATTERN PAYLOAD FANOUT ROOTS CYCLES WARMUP SEED
//
// PATTERN: uniform (any port, all alike), permutation (port + 1), hotspot (one flow in four goes to port 0), multicast (random
// sets of FANOUT ports without the sender's own), or latency. PAYLOAD: flits after the header. ROOTS: ports that send.
// Sources send as long as they have credits; sinks take everything and return each credit in the cycle after.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vconic_switch.h"
#include "verilated.h"

#include "shape.h"  // PORTS(X), kRadix, kFlitBytes, kHeaderFlits, kBufferFlits, kMftEntries, and register addresses

namespace {

using Flit = std::array<uint8_t, kFlitBytes>;
using Header = std::array<uint64_t, 8>;

uint64_t state;

uint64_t draw() {  // splitmix64
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

unsigned below(unsigned n) { return static_cast<unsigned>(draw() % n); }

struct Port {
    uint8_t *rx_valid, *rx_last, *rx_user, *tx_ready, *credit_in, *credit_in_vc;
    void* rx_data;
    const uint8_t *tx_valid, *tx_last, *tx_user, *credit_out, *credit_out_vc;
    const void* tx_data;
};

struct Source {
    unsigned credits = kBufferFlits;
    Header header{};
    unsigned place = 0;
    bool inside = false;
};

struct Sink {
    Header header{};
    unsigned place = 0;
    bool owes = false;
    uint64_t flits = 0, packets = 0;
};

struct Bench {
    Vconic_switch top;
    std::vector<Port> ports;
    std::vector<Source> sources = std::vector<Source>(kRadix);
    std::vector<Sink> sinks = std::vector<Sink>(kRadix);
    std::vector<std::vector<uint64_t>> sets;                        // of each source, as masks
    std::vector<std::vector<uint64_t>> sent, seen;                  // sequence numbers, source by destination
    std::vector<std::vector<std::deque<uint64_t>>> due;             // numbers of multicasts, source by destination
    uint64_t cycle = 0, mismatches = 0, outstanding = 0, entered = 0;
    unsigned payload = 0;

    Bench() {
#define ADD(p)                                                                                                            \
    ports.push_back({&top.s_axis_rx##p##_tvalid, &top.s_axis_rx##p##_tlast, &top.s_axis_rx##p##_tuser,                    \
                     &top.m_axis_tx##p##_tready, &top.tx##p##_credit_valid, &top.tx##p##_credit_vc,                       \
                     &top.s_axis_rx##p##_tdata, &top.m_axis_tx##p##_tvalid, &top.m_axis_tx##p##_tlast,                    \
                     &top.m_axis_tx##p##_tuser, &top.rx##p##_credit_valid, &top.rx##p##_credit_vc,                        \
                     &top.m_axis_tx##p##_tdata});
        PORTS(ADD)
#undef ADD
        due.assign(kRadix, std::vector<std::deque<uint64_t>>(kRadix));
        sent.assign(kRadix, std::vector<uint64_t>(kRadix));
    }

    void clock() {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        ++cycle;
    }

    void reset() {
        top.rst = 1;
        for (Port& port : ports) *port.tx_ready = 1;
        top.s_axil_bready = 1;
        top.s_axil_wstrb = 0xF;
        for (int k = 0; k < 4; ++k) clock();
        top.rst = 0;
        clock();
    }

    void write(uint32_t address, uint32_t value) {
        top.s_axil_awaddr = address;
        top.s_axil_wdata = value;
        top.s_axil_awvalid = top.s_axil_wvalid = 1;
        for (bool done = false; !done;) {
            const bool aw = top.s_axil_awvalid && top.s_axil_awready, w = top.s_axil_wvalid && top.s_axil_wready;
            done = top.s_axil_bvalid;
            if (done && top.s_axil_bresp) std::fprintf(stderr, "register 0x%x was answered with an error\n", address), ++mismatches;
            clock();
            if (aw) top.s_axil_awvalid = 0;
            if (w) top.s_axil_wvalid = 0;
        }
    }

    void set_group(unsigned colour, uint64_t mask) {
        for (unsigned group = 0; group < (kRadix + kMftGroupPorts - 1) / kMftGroupPorts; ++group) {
            write(kMftBlock, group << kMftGroupShift | colour / kMftBlockEntries << kMftBlockShift);
            write(kMftMask + kRegisterBytes * (colour % kMftBlockEntries),
                  mask >> kMftGroupPorts * group & ((1u << kMftGroupPorts) - 1));
        }
    }

    // Header words: length, destination or colour, sender, and the number of the packet on its way from there to here.
    Header make(unsigned source, unsigned dest, bool multicast, unsigned colour, uint64_t number) const {
        Header h{};
        h[kLengthWord] |= uint64_t(payload * kFlitBytes) << kLengthBit;
        h[kMulticastWord] |= uint64_t(multicast) << kMulticastBit;
        h[kDestWord] |= uint64_t(dest) << kDestBit;
        h[kMlidWord] |= uint64_t(0xC000 + colour) << kMlidBit;
        h[kSourceWord] |= uint64_t(source) << kSourceBit;
        h[3] = number;
        return h;
    }

    static Flit flit_of(const Header& h, unsigned place) {
        Flit flit{};
        if (place < kHeaderFlits) {
            const size_t count = kFlitBytes < 32 ? kFlitBytes : 32;
            std::memcpy(flit.data(), reinterpret_cast<const uint8_t*>(h.data()) + place * kFlitBytes, count);
        } else {
            const uint64_t word = h[3] * 0x9E3779B97F4A7C15u + place;
            for (unsigned k = 0; k < kFlitBytes; k += 8) std::memcpy(flit.data() + k, &word, 8);
        }
        return flit;
    }

    // One cycle: what stands on the wires is taken, then what follows is put there.
    template <class Next>
    void step(Next next) {
        for (unsigned p = 0; p < kRadix; ++p) {
            Port& port = ports[p];
            Source& source = sources[p];
            Sink& sink = sinks[p];
            if (*port.credit_out && ++source.credits > kBufferFlits) ++mismatches;
            sink.owes = *port.tx_valid;
            if (*port.tx_valid) take(p, sink);
            // The last flit put there has been taken: ready is always high.
            *port.rx_valid = 0;
            if (!source.inside && next(p, source)) source.inside = true, source.place = 0, ++entered;
            if (source.inside && source.credits) {
                --source.credits;
                const Flit flit = flit_of(source.header, source.place++);
                std::memcpy(port.rx_data, flit.data(), kFlitBytes);
                *port.rx_valid = 1;
                *port.rx_user = 0;
                *port.rx_last = source.place == kHeaderFlits + payload;
                source.inside = !*port.rx_last;
            }
            *port.credit_in = sink.owes;
            *port.credit_in_vc = 0;
        }
        clock();
    }

    void take(unsigned p, Sink& sink) {
        Flit flit;
        std::memcpy(flit.data(), ports[p].tx_data, kFlitBytes);
        ++sink.flits;
        if (sink.place < kHeaderFlits) {
            const size_t count = kFlitBytes < 32 ? kFlitBytes : 32;
            std::memcpy(reinterpret_cast<uint8_t*>(sink.header.data()) + sink.place * kFlitBytes, flit.data(), count);
        }
        if (flit != flit_of(sink.header, sink.place)) ++mismatches;
        ++sink.place;
        if (*ports[p].tx_last != (sink.place == kHeaderFlits + payload)) ++mismatches;
        if (!*ports[p].tx_last) return;
        // Exactly the packet that is due next from its sender.
        const unsigned source = sink.header[kSourceWord] >> kSourceBit & 0xFFFFFF;
        ++sink.packets;
        if (source >= kRadix || due[source][p].empty() || due[source][p].front() != sink.header[3]) ++mismatches;
        else due[source][p].pop_front(), --outstanding;
        sink.place = 0;
    }

    void expect(unsigned source, unsigned dest, uint64_t number) { due[source][dest].push_back(number), ++outstanding; }

    // Cycles from the first flit on rx to the first flit on tx, nothing else being there.
    unsigned hop(unsigned from, unsigned to) {
        bool offered = false;
        uint64_t start = 0;
        const uint64_t before = sinks[to].flits;
        auto once = [&](unsigned p, Source& source) {
            if (p != from || offered) return false;
            offered = true;
            source.header = make(from, to, false, 0, cycle);
            expect(from, to, cycle);
            start = cycle;
            return true;
        };
        unsigned hops = 0;
        while (outstanding || !offered || sources[from].credits != kBufferFlits) {
            if (!hops && offered && sinks[to].flits == before && *ports[to].tx_valid) hops = cycle - start;
            step(once);
            if (cycle > start + 1000 && offered) return 1000;
        }
        return hops;
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 2;
    const std::string pattern = argv[1];
    const unsigned payload = std::atoi(argv[2]), fanout = std::atoi(argv[3]), roots = std::atoi(argv[4]);
    const uint64_t cycles = std::strtoull(argv[5], nullptr, 0), warmup = std::strtoull(argv[6], nullptr, 0);
    state = std::strtoull(argv[7], nullptr, 0);
    const auto bench = std::make_unique<Bench>();
    bench->payload = payload;
    bench->reset();
    for (unsigned p = 0; p < kRadix; ++p) bench->write(kTableSelect, p), bench->write(kTablePort, p);

    if (pattern == "latency") {
        unsigned least = ~0u, most = 0;
        for (unsigned from = 0; from < kRadix; ++from)
            for (unsigned to = 0; to < kRadix; ++to)
                for (unsigned k = 0; k < 2; ++k) {
                    const unsigned hops = bench->hop(from, to);
                    least = hops < least ? hops : least;
                    most = hops > most ? hops : most;
                }
        std::printf("{\"min\": %u, \"max\": %u, \"mismatches\": %lu}\n", least, most, (unsigned long)bench->mismatches);
        return bench->mismatches ? 1 : 0;
    }

    // Each sender has groups of its own: random sets of the other ports.
    const unsigned per_source = kMftEntries / kRadix;
    bench->sets.resize(kRadix);
    if (pattern == "multicast")
        for (unsigned p = 0; p < kRadix; ++p)
            for (unsigned k = 0; k < per_source; ++k) {
                uint64_t mask = 0;
                for (unsigned count = 0; count < fanout;) {
                    const unsigned q = below(kRadix);
                    if (q == p || mask >> q & 1) continue;
                    mask |= uint64_t(1) << q, ++count;
                }
                bench->sets[p].push_back(mask);
                // The sender's own port belongs to its group, and is left out by the switch.
                bench->set_group(p * per_source + k, mask | uint64_t(1) << p);
            }

    std::vector<uint64_t> numbers(kRadix);
    bool sending = true;
    auto next = [&](unsigned p, Source& source) {
        if (!sending || p >= roots) return false;
        const uint64_t number = uint64_t(p) << 48 | ++numbers[p];
        if (pattern == "multicast") {
            const unsigned k = below(per_source);
            source.header = bench->make(p, 0, true, p * per_source + k, number);
            for (unsigned q = 0; q < kRadix; ++q)
                if (bench->sets[p][k] >> q & 1) bench->expect(p, q, number);
            return true;
        }
        unsigned dest = below(kRadix);
        if (pattern == "permutation") dest = (p + 1) % kRadix;
        if (pattern == "hotspot" && below(4) == 0) dest = 0;
        source.header = bench->make(p, dest, false, 0, number);
        bench->expect(p, dest, number);
        return true;
    };
    auto flits = [&] {
        uint64_t total = 0;
        for (const Sink& sink : bench->sinks) total += sink.flits;
        return total;
    };
    for (uint64_t k = 0; k < warmup; ++k) bench->step(next);
    const uint64_t before = flits(), at_port = bench->sinks[0].flits, entered = bench->entered;
    for (uint64_t k = 0; k < cycles; ++k) bench->step(next);
    const uint64_t moved = flits() - before, hot = bench->sinks[0].flits - at_port;
    const uint64_t packets = bench->entered - entered;
    // Then everything must come out.
    sending = false;
    for (uint64_t k = 0; k < 1000000 && bench->outstanding; ++k) bench->step(next);
    uint64_t delivered = 0;
    for (const Sink& sink : bench->sinks) delivered += sink.packets;
    // An input hands on as many packets at once as it has readers, but its credits go back one in a cycle: those of a
    // full buffer of each channel take as many cycles as it has flits. One that has not come then is lost.
    auto credits_back = [&] {
        for (const Source& source : bench->sources)
            if (source.credits != kBufferFlits) return false;
        return true;
    };
    for (unsigned k = 0; k < 2 * kBufferFlits && !credits_back(); ++k) bench->step(next);
    for (int k = 0; k < 50; ++k) bench->step(next);  // what comes too often is a mismatch
    const bool all_back = credits_back();
    std::printf(
        "{\"flits\": %lu, \"port0_flits\": %lu, \"packets\": %lu, \"copies\": %lu, \"lost\": %lu, \"mismatches\": %lu, "
        "\"credits_back\": %s}\n",
        (unsigned long)moved, (unsigned long)hot, (unsigned long)packets, (unsigned long)delivered,
        (unsigned long)bench->outstanding, (unsigned long)bench->mismatches, all_back ? "true" : "false");
    return bench->mismatches || bench->outstanding || !all_back ? 1 : 0;
}
