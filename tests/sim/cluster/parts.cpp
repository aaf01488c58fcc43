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

constexpr unsigned kFlitBytes = FLIT_BYTES;

int failures = 0;

void expect(bool holds, const std::string& what) {
    if (holds) return;
    std::printf("%s\n", what.c_str());
    ++failures;
}

struct Data { uint8_t bytes[kFlitBytes] = {}; };

// The ports of a NIC that memory and rules look at.
struct Bus {
    uint64_t m_axi_araddr = 0, m_axi_awaddr = 0, m_axi_wstrb = 0;
    Data m_axi_wdata, m_axi_rdata;
    uint8_t m_axi_arvalid = 0, m_axi_arready = 0, m_axi_arlen = 0, m_axi_arsize = 0, m_axi_arburst = 1;
    uint8_t m_axi_awvalid = 0, m_axi_awready = 0, m_axi_awlen = 0, m_axi_awsize = 0, m_axi_awburst = 1;
    uint8_t m_axi_wvalid = 0, m_axi_wready = 0, m_axi_wlast = 0, m_axi_bvalid = 0, m_axi_bready = 1, m_axi_bresp = 0;
    uint8_t m_axi_rvalid = 0, m_axi_rready = 1, m_axi_rlast = 0, m_axi_rresp = 0, m_axi_rid = 0, m_axi_bid = 0;

    Bus() {
        for (unsigned bytes = kFlitBytes; bytes > 1; bytes /= 2) ++m_axi_arsize;
        m_axi_awsize = m_axi_arsize;
    }

    conic::AxiPins pins() {
        return {
            &m_axi_arvalid, &m_axi_arlen, &m_axi_arsize, &m_axi_arburst, &m_axi_awvalid, &m_axi_awlen, &m_axi_awsize,
            &m_axi_awburst, &m_axi_wvalid, &m_axi_wlast, &m_axi_rready, &m_axi_bready, &m_axi_araddr, &m_axi_awaddr,
            &m_axi_wdata, conic::Pin::of(m_axi_wstrb), &m_axi_arready, &m_axi_awready, &m_axi_wready, &m_axi_rvalid,
            &m_axi_rlast, &m_axi_rresp, &m_axi_rid, &m_axi_bvalid, &m_axi_bresp, &m_axi_bid, &m_axi_rdata,
        };
    }
};

constexpr uint64_t kFull = kFlitBytes == 64 ? ~0ull : (1ull << (kFlitBytes % 64)) - 1;
constexpr uint64_t kMemoryBytes = 1 << 14;

// A memory with its rules, one cycle at a time.
struct Bench {
    Bench(const conic::MemoryTiming& timing, uint64_t seed) : memory(bus.pins(), kFlitBytes, kMemoryBytes, timing, seed) {}

    void cycle() {
        memory.drive();
        rules.check();
        taken = {bool(bus.m_axi_arvalid && bus.m_axi_arready), bool(bus.m_axi_awvalid && bus.m_axi_awready),
                 bool(bus.m_axi_wvalid && bus.m_axi_wready)};
        memory.step(now, [&](uint64_t first, uint64_t last) { written.push_back({first, last}); });
        ++now;
    }

    struct Taken { bool ar, aw, w; };
    Bus bus;
    conic::AxiMemory memory;
    conic::AxiRules rules{bus.pins(), kFlitBytes};
    std::vector<std::pair<uint64_t, uint64_t>> written;
    Taken taken{};
    uint64_t now = 0;
};

struct Burst { uint64_t address; unsigned beats; };

// Random bursts, no two of which cross a page; some lie outside of the memory.
Burst random_burst(std::mt19937_64& rng) {
    const unsigned most = std::min(16u, 4096 / kFlitBytes);
    const unsigned beats = 1 + rng() % most;
    const uint64_t places = 4096 / kFlitBytes - beats + 1;
    return {rng() % 6 * 4096 + rng() % places * kFlitBytes, beats};
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
            const uint64_t address = burst.address + beat * kFlitBytes;
            const bool inside = address + kFlitBytes <= kMemoryBytes;
            outside |= !inside;
            for (unsigned byte = 0; inside && byte < kFlitBytes; ++byte)
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
        bench.memory.drive();
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
        bench.memory.drive();
        if (bus.m_axi_rvalid && bus.m_axi_rready) {
            const Burst& burst = reading.front();
            const uint64_t address = burst.address + beat * kFlitBytes;
            const bool inside = address + kFlitBytes <= kMemoryBytes;
            expect(bus.m_axi_rresp == (inside ? 0 : 3), "a read is answered with another response than it deserves");
            expect(bus.m_axi_rlast == (beat + 1 == burst.beats), "another beat than the last is marked");
            if (inside)
                expect(!std::memcmp(&bus.m_axi_rdata, model.data() + address, kFlitBytes), "a read returns other data");
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
        bench.bus.m_axi_araddr = 4096 - kFlitBytes;
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
        bench.rules.check();
    };
    expect_fault("m_axi_ar lowered valid", [&](Bench& bench) {
        waiting(bench);
        bench.bus.m_axi_arvalid = 0;
        bench.rules.check();
    });
    expect_fault("m_axi_ar changed its payload", [&](Bench& bench) {
        waiting(bench);
        bench.bus.m_axi_araddr += 4096;
        bench.rules.check();
    });
    expect_fault("m_axi_w changed its payload", [](Bench& bench) {
        bench.bus.m_axi_wvalid = 1;
        bench.bus.m_axi_wready = 0;
        bench.rules.check();
        bench.bus.m_axi_wdata.bytes[kFlitBytes - 1] ^= 1;
        bench.rules.check();
    });
}

// The link port of a model that does what it is told.
struct Port {
    uint8_t tx_valid = 0, tx_last = 0, tx_vc = 0, rx_ready = 1, rx_credit_valid = 0, rx_credit_vc = 0;
    uint8_t tx_ready = 0, tx_credit_valid = 0, tx_credit_vc = 0, rx_valid = 0, rx_last = 0, rx_vc = 0;
    Data tx_data, rx_data;

    conic::LinkPins pins() {
        return {&tx_valid, &tx_last, &tx_vc, &tx_data, &rx_ready, &rx_credit_valid, &rx_credit_vc,
                &tx_ready, &tx_credit_valid, &tx_credit_vc, &rx_valid, &rx_last, &rx_vc, &rx_data};
    }
};

// Sends flits and credits with numbers, in windows of `window` cycles or (0) in lockstep; gives the cycles from sending to
// arrival of every flit.
std::vector<uint64_t> link_times(const conic::LinkTiming& timing, uint64_t seed, uint64_t window) {
    Port from, to;
    conic::LinkEnd sender(from.pins(), kFlitBytes), receiver(to.pins(), kFlitBytes);
    conic::Lane there, back;
    sender.connect(there, back, timing, seed);
    receiver.connect(back, there, timing, seed + 1);
    std::mt19937_64 rng(seed), credit_rng(seed + 9);
    std::vector<uint64_t> sent, times;
    std::deque<uint64_t> credits;
    uint8_t next_credit = 0, next_returned = 0, number = 0, expected = 0;

    const auto send = [&](uint64_t now, conic::Parity parity) {
        from.tx_valid = now < 2000 && rng() % 3;
        from.tx_data.bytes[0] = from.tx_data.bytes[kFlitBytes - 1] = number;
        from.tx_last = number % 4 == 0;
        from.tx_vc = (number + 1) % 2;
        sender.transmit(now, parity, [&](const conic::Flit&) {
            ++number;
            sent.push_back(now);
        });
        expect(sender.receive([](const void*, bool, uint8_t) {}), "a port that receives nothing must not be blamed");
    };
    const auto take = [&](uint64_t now, conic::Parity parity) {
        to.rx_credit_valid = now < 2000 && credit_rng() % 3 == 0;
        to.rx_credit_vc = next_credit;
        receiver.transmit(now, parity, [](const conic::Flit&) {});
        if (to.rx_credit_valid) {
            ++next_credit;
            credits.push_back(now);
        }
    };
    const auto arrive = [&](uint64_t now) {
        receiver.drive(now);
        receiver.receive([&](const void*, bool, uint8_t) {});
        if (!to.rx_valid) return;
        expect(to.rx_data.bytes[0] == expected && to.rx_data.bytes[kFlitBytes - 1] == expected, "flits change or swap");
        expect(to.rx_vc == (expected + 1) % 2, "a flit's channel changes");
        expect(to.rx_last == (expected % 4 == 0), "the end of a packet is lost");
        times.push_back(now - sent[times.size()]);
        ++expected;
    };
    const auto credited = [&](uint64_t now) {
        sender.drive(now);
        if (!from.tx_credit_valid) return;
        expect(from.tx_credit_vc == next_returned++, "credits swap");
        expect(now - credits.front() == timing.latency, "a credit takes another time than the latency");
        credits.pop_front();
    };
    conic::Parity parity = 0;
    for (uint64_t begin = 0; begin < 4000; begin += window ? window : 1) {
        if (!window) {
            send(begin, 0);
            take(begin, 0);
            sender.collect(0);
            receiver.collect(0);
            arrive(begin);
            credited(begin);
            continue;
        }
        // One end goes through the window, then the other: the second one first, now and then.
        parity ^= 1;
        sender.collect(parity ^ 1);
        receiver.collect(parity ^ 1);
        const auto near = [&] {
            for (uint64_t now = begin; now < begin + window; ++now) {
                credited(now);
                send(now, parity);
            }
        };
        const auto far = [&] {
            for (uint64_t now = begin; now < begin + window; ++now) {
                arrive(now);
                take(now, parity);
            }
        };
        if (begin / window % 3) near(), far();
        else far(), near();
    }
    expect(times.size() == sent.size() && credits.empty(), "a link loses something");
    expect(there.empty() && back.empty() && receiver.next_arrival() == UINT64_MAX, "something stays on the link");
    return times;
}

void links() {
    for (uint64_t time : link_times({0, 0, 0}, 1, 0)) expect(time == 0, "a link of latency 0 is no wire");
    for (uint64_t time : link_times({7, 0, 0}, 1, 0)) expect(time == 7, "a flit takes another time than the latency");
    const std::vector<uint64_t> random = link_times({3, 50, 1.0}, 5, 0);
    expect(random == link_times({3, 50, 1.0}, 5, 0), "the same seed delays otherwise");
    expect(random != link_times({3, 50, 1.0}, 6, 0), "another seed delays the same");
    expect(*std::min_element(random.begin(), random.end()) >= 3, "jitter makes a link faster");
    expect(*std::max_element(random.begin(), random.end()) > 3, "jitter does nothing");
    for (uint64_t window : {1, 2, 3}) expect(random == link_times({3, 50, 1.0}, 5, window), "windows change the times");

    Port port, other;
    conic::LinkEnd end(port.pins(), kFlitBytes), far(other.pins(), kFlitBytes);
    conic::Lane there, back;
    end.connect(there, back, {0, 0, 0}, 1);
    far.connect(back, there, {0, 0, 0}, 2);
    other.tx_valid = 1;
    port.rx_ready = 0;
    far.transmit(0, 0, [](const conic::Flit&) {});
    end.collect(0);
    end.drive(0);
    expect(!end.receive([](const void*, bool, uint8_t) {}), "a receiver that is not ready is not seen");
}

void mailbox() {
    conic::Mailbox<int> box;
    conic::Ring<int> ring;
    std::deque<int> model;
    std::mt19937_64 rng(7);
    for (int n = 0, next = 0; n < 3000; ++n) {
        for (uint64_t count = rng() % 20; count; --count) box.post(n % 2, next++);
        const int kept = static_cast<int>(ring.size());
        box.collect((n + 1) % 2, ring);
        (void)kept;
        for (uint64_t count = rng() % 24; count && !ring.empty(); --count) {
            expect(ring.front() == (model.empty() ? 0 : model.back() + 1), "a mailbox swaps or loses something");
            model.push_back(ring.front());
            if (model.size() > 1) model.pop_front();
            ring.pop_front();
        }
    }
}

struct Registers {
    uint32_t s_axil_awaddr = 0, s_axil_araddr = 0, s_axil_wdata = 0, s_axil_rdata = 0;
    uint8_t s_axil_awvalid = 0, s_axil_awready = 0, s_axil_awprot = 0, s_axil_wvalid = 0, s_axil_wready = 0;
    uint8_t s_axil_wstrb = 0, s_axil_bvalid = 0, s_axil_bready = 0, s_axil_bresp = 0, s_axil_arvalid = 0, s_axil_arready = 0;
    uint8_t s_axil_arprot = 0, s_axil_rvalid = 0, s_axil_rready = 0, s_axil_rresp = 0;

    conic::RegisterPins pins() {
        return {&s_axil_awready, &s_axil_wready, &s_axil_bvalid, &s_axil_bresp, &s_axil_arready, &s_axil_rvalid,
                &s_axil_rresp, &s_axil_rdata, &s_axil_awvalid, &s_axil_awprot, &s_axil_wvalid, &s_axil_wstrb,
                &s_axil_bready, &s_axil_arvalid, &s_axil_arprot, &s_axil_rready, conic::Pin::of(s_axil_awaddr),
                conic::Pin::of(s_axil_araddr), &s_axil_wdata};
    }
};

// A subordinate with random ready and response times; address 0x40 answers with an error.
void register_port() {
    std::mt19937_64 rng(3);
    Registers top;
    conic::RegisterPort port(top.pins());
    std::vector<uint32_t> memory(32, 0);
    for (uint32_t n = 0; n < 16; ++n) port.write(4 * n, 1000 + n, n == 8 ? 500 : 0);
    port.read(4 * 5);
    port.write(4 * 16, 1, 0);
    port.read(4 * 7);
    bool got_address = false, got_data = false;
    uint64_t ninth = 0;
    for (uint64_t now = 0; now < 4000 && !port.idle(); ++now) {
        port.drive();
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
        port.step(now, 0, nullptr);
        top = next;
    }
    expect(port.idle(), "register accesses do not end");
    for (uint32_t n = 0; n < 16; ++n) expect(memory[n] == 1000 + n, "a register write is lost");
    expect(ninth >= 500, "a register write comes before its time");
    expect(port.errors() == 1, "errors of register accesses are not counted");
    expect(port.value() == 1007, "the last read has another value");
}

void boundary() {
    uint64_t address = 5;
    uint8_t data[40] = {}, valid = 0;
    conic::Boundary boundary({{"address", &address, sizeof address}, {"data", data, sizeof data}, {"valid", &valid, 1}});
    const auto expect_seen = [&](auto& output, const std::string& name) {
        boundary.sample();
        boundary.check();
        output += 1;
        try {
            boundary.check();
            expect(false, "an output that follows an input is not seen: " + name);
        } catch (const conic::Fault& fault) {
            expect(fault.what() == name + ": an output follows an input within a cycle", fault.what());
        }
        boundary.sample();
        boundary.check();
    };
    expect_seen(address, "address");
    expect_seen(data[0], "data");
    expect_seen(data[39], "data");
    expect_seen(valid, "valid");
}

}  // namespace

int main() {
    memory();
    rules();
    links();
    mailbox();
    register_port();
    boundary();
    return failures != 0;
}
