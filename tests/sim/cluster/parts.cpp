// The parts of a cluster without its hardware: memory, AXI4 rules, links, register port and boundary under a driver made for
// each.
// Prints what fails and ends with 1. Built for each width of a flit by test_parts.py.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "axi_rules.h"
#include "boundary.h"
#include "link.h"
#include "memory.h"
#include "register_port.h"

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
    if (holds) return;
    std::printf("%s\n", what.c_str());
    ++failures;
}

struct Data { uint8_t bytes[conic::kFlitBytes] = {}; };

// The ports of a NIC that memory and rules look at.
struct Bus {
    uint64_t m_axi_araddr = 0, m_axi_awaddr = 0, m_axi_wstrb = 0;
    Data m_axi_wdata, m_axi_rdata;
    uint8_t m_axi_arvalid = 0, m_axi_arready = 0, m_axi_arlen = 0, m_axi_arsize = 0, m_axi_arburst = 1;
    uint8_t m_axi_awvalid = 0, m_axi_awready = 0, m_axi_awlen = 0, m_axi_awsize = 0, m_axi_awburst = 1;
    uint8_t m_axi_wvalid = 0, m_axi_wready = 0, m_axi_wlast = 0, m_axi_bvalid = 0, m_axi_bready = 1, m_axi_bresp = 0;
    uint8_t m_axi_rvalid = 0, m_axi_rready = 1, m_axi_rlast = 0, m_axi_rresp = 0, m_axi_rid = 0, m_axi_bid = 0;

    Bus() {
        for (unsigned bytes = conic::kFlitBytes; bytes > 1; bytes /= 2) ++m_axi_arsize;
        m_axi_awsize = m_axi_arsize;
    }
};

constexpr uint64_t kFull = conic::kFlitBytes == 64 ? ~0ull : (1ull << (conic::kFlitBytes % 64)) - 1;
constexpr uint64_t kMemoryBytes = 1 << 14;

// A memory with its rules, one cycle at a time.
struct Bench {
    Bench(const conic::MemoryTiming& timing, uint64_t seed) : memory(kMemoryBytes, timing, seed) {}

    void cycle() {
        memory.apply(bus);
        rules.check(bus);
        taken = {bool(bus.m_axi_arvalid && bus.m_axi_arready), bool(bus.m_axi_awvalid && bus.m_axi_awready),
                 bool(bus.m_axi_wvalid && bus.m_axi_wready)};
        memory.step(bus, now, [&](uint64_t first, uint64_t last) { written.push_back({first, last}); });
        ++now;
    }

    struct Taken { bool ar, aw, w; };
    Bus bus;
    conic::AxiMemory<Bus> memory;
    conic::AxiRules<Bus> rules{"nic"};
    std::vector<std::pair<uint64_t, uint64_t>> written;
    Taken taken{};
    uint64_t now = 0;
};

struct Burst { uint64_t address; unsigned beats; };

// Random bursts, no two of which cross a page; some lie outside of the memory.
Burst random_burst(std::mt19937_64& rng) {
    const unsigned most = std::min(16u, 4096 / conic::kFlitBytes);
    const unsigned beats = 1 + rng() % most;
    const uint64_t places = 4096 / conic::kFlitBytes - beats + 1;
    return {rng() % 6 * 4096 + rng() % places * conic::kFlitBytes, beats};
}

// Writes random bursts, then reads them back; what comes must be what a plain array holds. Returns the cycles taken.
uint64_t random_traffic(uint64_t seed, const conic::MemoryTiming& timing) {
    std::mt19937_64 rng(seed);
    Bench bench(timing, seed);
    Bus& bus = bench.bus;
    std::vector<uint8_t> model(kMemoryBytes, 0);
    std::deque<Burst> to_write, to_read;
    std::deque<uint8_t> responses;
    struct Beat { Data data; uint64_t strobes; bool last; };
    std::deque<Beat> beats;
    for (int n = 0; n < 60; ++n) {
        const Burst burst = random_burst(rng);
        to_write.push_back(burst);
        bool outside = false;
        for (unsigned beat = 0; beat < burst.beats; ++beat) {
            Beat item{{}, rng() % 4 ? kFull : rng() & kFull, beat + 1 == burst.beats};
            for (uint8_t& byte : item.data.bytes) byte = static_cast<uint8_t>(rng());
            const uint64_t address = burst.address + beat * conic::kFlitBytes;
            const bool inside = address + conic::kFlitBytes <= kMemoryBytes;
            outside |= !inside;
            for (unsigned byte = 0; inside && byte < conic::kFlitBytes; ++byte)
                if (item.strobes >> byte & 1) model[address + byte] = item.data.bytes[byte];
            beats.push_back(item);
        }
        responses.push_back(outside ? 3 : 0);
    }
    for (int n = 0; n < 60; ++n) to_read.push_back(random_burst(rng));
    const std::deque<Burst> all_reads = to_read;
    std::deque<Burst> reading;

    while (!responses.empty() && bench.now < 200000) {
        if (!bus.m_axi_awvalid && !to_write.empty() && rng() % 2) {
            bus.m_axi_awvalid = 1;
            bus.m_axi_awaddr = to_write.front().address;
            bus.m_axi_awlen = to_write.front().beats - 1;
            to_write.pop_front();
        }
        if (!bus.m_axi_wvalid && !beats.empty() && rng() % 2) {  // data may come before their address
            bus.m_axi_wvalid = 1;
            bus.m_axi_wdata = beats.front().data;
            bus.m_axi_wstrb = beats.front().strobes;
            bus.m_axi_wlast = beats.front().last;
            beats.pop_front();
        }
        bus.m_axi_bready = rng() % 2;
        bench.memory.apply(bus);
        if (bus.m_axi_bvalid && bus.m_axi_bready) {
            expect(bus.m_axi_bresp == responses.front(), "a write is answered with another response than it deserves");
            responses.pop_front();
        }
        bench.cycle();
        if (bench.taken.aw) bus.m_axi_awvalid = 0;
        if (bench.taken.w) bus.m_axi_wvalid = 0;
    }
    expect(responses.empty(), "writes are not all answered");
    expect(bench.written.size() == 60, "writes are not all reported");
    expect(std::equal(model.begin(), model.end(), bench.memory.data()), "memory differs from what was written");

    uint64_t beat = 0;
    while ((!to_read.empty() || !reading.empty()) && bench.now < 400000) {
        if (!bus.m_axi_arvalid && !to_read.empty() && rng() % 2) {
            bus.m_axi_arvalid = 1;
            bus.m_axi_araddr = to_read.front().address;
            bus.m_axi_arlen = to_read.front().beats - 1;
            reading.push_back(to_read.front());
            to_read.pop_front();
        }
        bus.m_axi_rready = rng() % 2;
        bench.memory.apply(bus);
        if (bus.m_axi_rvalid && bus.m_axi_rready) {
            const Burst& burst = reading.front();
            const uint64_t address = burst.address + beat * conic::kFlitBytes;
            const bool inside = address + conic::kFlitBytes <= kMemoryBytes;
            expect(bus.m_axi_rresp == (inside ? 0 : 3), "a read is answered with another response than it deserves");
            expect(bus.m_axi_rlast == (beat + 1 == burst.beats), "another beat than the last is marked");
            if (inside)
                expect(!std::memcmp(&bus.m_axi_rdata, model.data() + address, conic::kFlitBytes), "a read returns other data");
            if (++beat == burst.beats) {
                reading.pop_front();
                beat = 0;
            }
        }
        bench.cycle();
        if (bench.taken.ar) bus.m_axi_arvalid = 0;
    }
    expect(reading.empty(), "reads are not all answered");
    return bench.now;
}

void memory() {
    for (uint64_t seed = 0; seed < 8; ++seed) {
        const conic::MemoryTiming timing{seed * 5, seed * 3, seed % 3 * 40, seed % 2 ? 1.0 : 0.0};
        const uint64_t cycles = random_traffic(seed, timing);
        expect(cycles == random_traffic(seed, timing), "the same seed takes another time");
    }
    expect(random_traffic(1, {5, 3, 0, 1.0}) > random_traffic(1, {5, 3, 0, 0.0}), "stalls take no time");

    // Undisturbed: one beat a cycle after the latency.
    Bench bench({10, 4, 0, 0}, 1);
    bench.cycle();
    bench.bus.m_axi_arvalid = 1;
    bench.bus.m_axi_arlen = 3;
    bench.cycle();
    const uint64_t asked = bench.now - 1;
    bench.bus.m_axi_arvalid = 0;
    std::vector<uint64_t> came;
    for (int n = 0; n < 30; ++n) {
        bench.cycle();
        if (bench.bus.m_axi_rvalid) came.push_back(bench.now - 1 - asked);
    }
    expect(came == std::vector<uint64_t>({11, 12, 13, 14}), "beats come at other times than the latency says");
}

void expect_fault(const std::string& what, const std::function<void(Bench&)>& act) {
    Bench bench({10, 4, 0, 0}, 1);
    bench.cycle();
    try {
        act(bench);
    } catch (const conic::Fault& fault) {
        expect(std::string(fault.what()).find(what) != std::string::npos, "fault is '" + std::string(fault.what()) + "', not '" + what + "'");
        return;
    }
    expect(false, "no fault: " + what);
}

void rules() {
    expect_fault("m_axi_ar must not cross a 4 KiB boundary", [](Bench& bench) {
        bench.bus.m_axi_arvalid = 1;
        bench.bus.m_axi_araddr = 4096 - conic::kFlitBytes;
        bench.bus.m_axi_arlen = 1;
        bench.cycle();
    });
    expect_fault("m_axi_aw must ask for an aligned address", [](Bench& bench) {
        bench.bus.m_axi_awvalid = 1;
        bench.bus.m_axi_awaddr = 4;
        bench.cycle();
    });
    expect_fault("m_axi_aw must ask for incrementing bursts", [](Bench& bench) {
        bench.bus.m_axi_awvalid = 1;
        bench.bus.m_axi_awburst = 0;
        bench.cycle();
    });
    expect_fault("m_axi_ar must ask for beats of the bus's width", [](Bench& bench) {
        bench.bus.m_axi_arvalid = 1;
        bench.bus.m_axi_arsize -= 1;
        bench.cycle();
    });
    expect_fault("m_axi_w must mark the last beat", [](Bench& bench) {
        bench.bus.m_axi_awvalid = bench.bus.m_axi_wvalid = 1;
        bench.bus.m_axi_awlen = 1;
        bench.bus.m_axi_wlast = 1;
        bench.cycle();
    });
    // The rules themselves, where the memory has not been ready.
    const auto waiting = [](Bench& bench) {
        bench.bus.m_axi_arvalid = 1;
        bench.bus.m_axi_arready = 0;
        bench.rules.check(bench.bus);
    };
    expect_fault("m_axi_ar lowered valid", [&](Bench& bench) {
        waiting(bench);
        bench.bus.m_axi_arvalid = 0;
        bench.rules.check(bench.bus);
    });
    expect_fault("m_axi_ar changed its payload", [&](Bench& bench) {
        waiting(bench);
        bench.bus.m_axi_araddr += 4096;
        bench.rules.check(bench.bus);
    });
    expect_fault("m_axi_w changed its payload", [](Bench& bench) {
        bench.bus.m_axi_wvalid = 1;
        bench.bus.m_axi_wready = 0;
        bench.rules.check(bench.bus);
        bench.bus.m_axi_wdata.bytes[conic::kFlitBytes - 1] ^= 1;
        bench.rules.check(bench.bus);
    });
}

// Sends flits and credits with numbers; gives the cycles from sending to arrival.
std::vector<uint64_t> link_times(const conic::LinkTiming& timing, uint64_t seed) {
    conic::Link link(timing, seed);
    std::mt19937_64 rng(seed);
    std::vector<uint64_t> sent, times;
    std::deque<uint64_t> credits;
    uint8_t next_credit = 0, number = 0, expected = 0;
    for (uint64_t now = 0; now < 4000; ++now) {
        if (now < 2000 && link.ready() && rng() % 3) {
            conic::Flit flit{};
            flit.data[0] = flit.data[conic::kFlitBytes - 1] = number++;
            flit.last = rng() % 4 == 0;
            flit.vc = number % 2;
            link.push(flit, now);
            sent.push_back(now);
        }
        if (now < 2000 && rng() % 3 == 0) {
            link.push_credit(next_credit++, now);
            credits.push_back(now);
        }
        link.deliver(now);
        link.deliver_credit(now);
        if (link.valid) {
            expect(link.flit.data[0] == expected && link.flit.data[conic::kFlitBytes - 1] == expected, "flits change or swap");
            expect(link.flit.vc == (expected + 1) % 2, "a flit's channel changes");
            times.push_back(now - sent[times.size()]);
            ++expected;
        }
        if (link.credit_valid) {
            expect(now - credits.front() == timing.latency, "a credit takes another time than the latency");
            credits.pop_front();
        }
        link.next_cycle();
    }
    expect(times.size() == sent.size() && credits.empty(), "a link loses something");
    return times;
}

void links() {
    for (uint64_t time : link_times({0, 0, 0}, 1)) expect(time == 0, "a link of latency 0 is no wire");
    for (uint64_t time : link_times({7, 0, 0}, 1)) expect(time == 7, "a flit takes another time than the latency");
    const std::vector<uint64_t> random = link_times({3, 50, 1.0}, 5);
    expect(random == link_times({3, 50, 1.0}, 5), "the same seed delays otherwise");
    expect(random != link_times({3, 50, 1.0}, 6), "another seed delays the same");
    expect(*std::min_element(random.begin(), random.end()) >= 3, "jitter makes a link faster");
    expect(*std::max_element(random.begin(), random.end()) > 3, "jitter does nothing");
}

struct Registers {
    uint32_t s_axil_awaddr = 0, s_axil_araddr = 0, s_axil_wdata = 0, s_axil_rdata = 0;
    uint8_t s_axil_awvalid = 0, s_axil_awready = 0, s_axil_awprot = 0, s_axil_wvalid = 0, s_axil_wready = 0;
    uint8_t s_axil_wstrb = 0, s_axil_bvalid = 0, s_axil_bready = 0, s_axil_bresp = 0, s_axil_arvalid = 0, s_axil_arready = 0;
    uint8_t s_axil_arprot = 0, s_axil_rvalid = 0, s_axil_rready = 0, s_axil_rresp = 0;
};

// A subordinate with random ready and response times; address 0x40 answers with an error.
void register_port() {
    std::mt19937_64 rng(3);
    Registers top;
    conic::RegisterPort<Registers> port;
    std::vector<uint32_t> memory(32, 0);
    for (uint32_t n = 0; n < 16; ++n) port.write(4 * n, 1000 + n, n == 8 ? 500 : 0);
    port.read(4 * 5);
    port.write(4 * 16, 1, 0);
    port.read(4 * 7);
    bool got_address = false, got_data = false;
    uint64_t ninth = 0;
    for (uint64_t now = 0; now < 4000 && !port.idle(); ++now) {
        port.apply(top);
        const bool aw = top.s_axil_awvalid && top.s_axil_awready, w = top.s_axil_wvalid && top.s_axil_wready;
        const bool ar = top.s_axil_arvalid && top.s_axil_arready;
        Registers next = top;
        got_address |= aw;
        got_data |= w;
        if (top.s_axil_bvalid && top.s_axil_bready) next.s_axil_bvalid = 0;
        if (top.s_axil_rvalid && top.s_axil_rready) next.s_axil_rvalid = 0;
        if (got_address && got_data && !top.s_axil_bvalid && rng() % 3 == 0) {
            if (top.s_axil_awaddr / 4 == 8) ninth = now;
            memory[top.s_axil_awaddr / 4] = top.s_axil_wdata;
            next.s_axil_bvalid = 1;
            next.s_axil_bresp = top.s_axil_awaddr == 0x40 ? 2 : 0;
            got_address = got_data = false;
        }
        if (ar) {
            next.s_axil_rvalid = 1;
            next.s_axil_rdata = memory[top.s_axil_araddr / 4];
        }
        next.s_axil_awready = !got_address && rng() % 2;
        next.s_axil_wready = !got_data && rng() % 2;
        next.s_axil_arready = rng() % 2;
        port.step(top, now, 0, nullptr);
        top = next;
    }
    expect(port.idle(), "register accesses do not end");
    for (uint32_t n = 0; n < 16; ++n) expect(memory[n] == 1000 + n, "a register write is lost");
    expect(ninth >= 500, "a register write comes before its time");
    expect(port.errors() == 1, "errors of register accesses are not counted");
    expect(port.value() == 1007, "the last read has another value");
}

template <class Top, class Field>
void expect_seen(Field Top::*output, const std::string& group) {
    Top top{};
    conic::Boundary boundary(top);
    boundary.sample();
    boundary.check("it");
    top.*output += 1;
    try {
        boundary.check("it");
        expect(false, "an output that follows an input is not seen: " + group);
    } catch (const conic::Fault& fault) {
        expect(fault.what() == "it " + group + ": an output follows an input within a cycle", fault.what());
    }
    boundary.sample();
    boundary.check("it");
}

void boundary() {
    expect_seen(&VNic::m_axi_araddr, "m_axi_ar");
    expect_seen(&VNic::m_axis_tx_tdata, "link");
    expect_seen(&VNic::s_axil_bvalid, "s_axil");
    expect_seen(&VSwitch::m_axis_tx1_tvalid, "link 1");
    expect_seen(&VSwitch::rx0_credit_valid, "link 0");
}

}  // namespace

int main() {
    memory();
    rules();
    links();
    register_port();
    boundary();
    return failures != 0;
}
