// The self-test design behind a model of a serial port. Commands come on standard input, answers go to standard output:
// all time that passes is asked for, so that a run is the same every time.
//
//   'W' n, n bytes       send these bytes when those before them are gone
//   'R' n, idle (u64)    run until n bytes have come, or none for `idle` cycles: answers count, bytes
//   'S'                  answers the cycle (u64), and lights: passed, failed (a byte each)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "VSelfTest.h"
#include "verilated.h"

namespace {

// 8N1 at a bit time in clock cycles that need not be whole, as two oscillators never agree.
class SerialPort {
public:
    explicit SerialPort(double bit_cycles) : bit_(bit_cycles) {}

    void send(uint8_t byte) { outgoing_.push_back(byte); }
    bool sending() const { return left_ > 0 || !outgoing_.empty(); }
    std::deque<uint8_t>& received() { return received_; }

    // One cycle: what the design drives on its tx, and what it finds on its rx.
    bool step(bool tx) {
        now_ += 1;
        receive(tx);
        if (left_ == 0 && !outgoing_.empty()) {
            frame_ = 0x200u | outgoing_.front() << 1;
            outgoing_.pop_front();
            left_ = 10;
            edge_ = now_ + bit_;
        } else if (left_ > 0 && now_ >= edge_) {
            frame_ >>= 1;
            left_ -= 1;
            edge_ += bit_;
        }
        return left_ == 0 || (frame_ & 1);
    }

private:
    void receive(bool tx) {
        if (place_ < 0) {
            if (!tx) {
                place_ = 0;
                sample_ = now_ + bit_ / 2;
                byte_ = 0;
            }
        } else if (now_ >= sample_) {
            sample_ += bit_;
            if (place_ >= 1 && place_ <= 8) byte_ |= unsigned(tx) << (place_ - 1);
            if (place_ == 9 && tx) received_.push_back(uint8_t(byte_));
            place_ = place_ == 9 ? -1 : place_ + 1;
        }
    }

    double bit_, now_ = 0, edge_ = 0, sample_ = 0;
    std::deque<uint8_t> outgoing_, received_;
    unsigned frame_ = 0, byte_ = 0;
    int left_ = 0, place_ = -1;
};

template <class T>
bool get(T& value) { return std::fread(&value, sizeof value, 1, stdin) == 1; }

template <class T>
void put(const T& value) { std::fwrite(&value, sizeof value, 1, stdout); }

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    VerilatedContext context;
    context.randReset(2);
    context.randSeed(std::atoi(argv[2]));
    auto top = std::make_unique<VSelfTest>(&context);
    SerialPort port(std::atof(argv[1]));
    uint64_t cycle = 0;
    bool rx = true;
    auto step = [&] {
        top->clk = 0;
        top->rst = cycle < 4;
        top->rx = rx;
        top->eval();
        // The design drives its line from a register: what is seen here is what it has been driving in this cycle.
        rx = port.step(cycle < 4 || top->tx);
        top->clk = 1;
        top->eval();
        ++cycle;
    };
    for (int n = 0; n < 8; ++n) step();

    char command;
    while (get(command)) {
        if (command == 'W') {
            uint32_t count = 0;
            if (!get(count)) return 1;
            for (uint8_t byte; count > 0 && get(byte); --count) port.send(byte);
        } else if (command == 'R') {
            uint32_t count = 0;
            uint64_t idle = 0;
            if (!get(count) || !get(idle)) return 1;
            size_t before = port.received().size();
            for (uint64_t quiet = 0; port.received().size() < count && quiet < idle; ++quiet) {
                step();
                if (port.sending() || port.received().size() != before) quiet = 0;
                before = port.received().size();
            }
            const uint32_t there = uint32_t(std::min<size_t>(count, port.received().size()));
            put(there);
            for (uint32_t n = 0; n < there; ++n) {
                put(port.received().front());
                port.received().pop_front();
            }
        } else if (command == 'S') {
            put(cycle);
            put(uint8_t(top->passed));
            put(uint8_t(top->failed));
        } else {
            return 1;
        }
        std::fflush(stdout);
    }
    top->final();
    return 0;
}
