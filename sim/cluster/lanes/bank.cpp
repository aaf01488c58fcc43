// Nodes in the lanes of words: what carries out the code of a design's parts, and shows each lane as a model.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "design.h"
#include "instance.h"
#include "lanes.h"
#include "model.h"
#include "named_registers.h"
#include "pins.h"

namespace conic::lanes {

#if CONIC_ISA != 512 && LANES > 1
const Spreads spreads;
#endif

namespace {

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

std::uint64_t hash_of(const char* text) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001B3;
    return hash;
}

// Parts of an instance in a stage: a word of marks.
struct Turn {
    std::uint64_t* marks;
    std::uint64_t all;  // marks of all parts there are
    const Function* parts;
    char* block;
};

class LaneBank;

class LaneModel : public Model {
public:
    LaneModel(LaneBank& bank, unsigned lane) : bank_(bank), lane_(lane) {}

    const char* failed() const override;
    bool still() const override;
    std::uint64_t fingerprint() override;
    std::size_t bytes() const override;
    std::vector<std::string> register_names() override;
    Register find_register(const std::string& name) override;

    void bind(const Design& design, char* pins) {
        Pins ports;
        for (unsigned n = 0; n < design.n_ports; ++n) {
            const PortCode& port = design.ports[n];
            ports.add(port.name, pins + port.pin, port.pin_bytes);
            if (port.is_output) outputs.push_back({port.name, pins + port.pin, port.pin_bytes});
        }
        ports.bind(*this, design.flit_bytes, design.words);
    }

private:
    LaneBank& bank_;
    unsigned lane_;
};

class LaneBank : public Bank {
public:
    LaneBank(const Design& design, const std::vector<Born>& born) : design_(design), n_(unsigned(born.size())) {
        place();
        connect();
        for (unsigned lane = 0; lane < LANES; ++lane) begin(lane, lane < n_ ? born[lane].seed : 0);
        pins_store_ = zeros(std::size_t{design.pin_bytes} * LANES);
        pins_ = aligned(pins_store_.get());
        taken_store_ = zeros(std::size_t{design.input_bytes} * LANES);
        taken_ = aligned(taken_store_.get());
        for (unsigned lane = 0; lane < n_; ++lane) {
            models_.push_back(std::make_unique<LaneModel>(*this, lane));
            models_.back()->bind(design, pins(lane));
        }
        for (unsigned n = 0; n < design.n_ports; ++n) {
            const PortCode& port = design.ports[n];
            if (!std::strcmp(port.name, "restless")) restless_ = &port;
            if (port.is_output && !port.at)
                for (unsigned lane = 0; lane < n_; ++lane) *(pins(lane) + port.pin) = static_cast<char>(port.n_marks);
        }
        mark_all();
        evaluate();
    }

    unsigned size() const override { return n_; }
    Model& model(unsigned lane) override { return *models_[lane]; }

    void latch() override {
        take_inputs();
        evaluate();
    }
    void clock() override {
        edge();
        evaluate();
    }
    void step(std::uint64_t skipped) override {
        if (skipped) {
            pass_time(skipped);
            evaluate();
        }
        edge();
        take_inputs();
        evaluate();
    }

    void adopt(unsigned lane, const Bank& bank, unsigned there) override {
        const auto& other = dynamic_cast<const LaneBank&>(bank);
        for (std::size_t n = 0; n < instances_.size(); ++n) copy_lane(instances_[n], lane, other.instances_[n], there);
        std::memcpy(pins(lane), other.pins_ + std::size_t{there} * design_.pin_bytes, design_.pin_bytes);
        std::memcpy(taken_ + std::size_t{lane} * design_.input_bytes,
                    other.taken_ + std::size_t{there} * design_.input_bytes, design_.input_bytes);
        failures_[lane] = other.failures_[there];
        alarm_ = 1;
        mark_all();
        evaluate();
    }
    void copy_inputs(unsigned lane, const Bank& bank, unsigned there) override {
        const auto& other = dynamic_cast<const LaneBank&>(bank);
        std::memcpy(pins(lane), other.pins_ + std::size_t{there} * design_.pin_bytes, design_.input_bytes);
    }

    void leave_nothing_out() override { thorough_ = true; }
    void retire(unsigned lane) override {
        std::memset(pins(lane), 0, design_.input_bytes);
        *models_[lane]->reset = 1;
    }

    // Of a lane.

    const char* failed(unsigned lane) const { return failures_[lane]; }

    std::uint64_t fingerprint(unsigned lane) const {
        std::uint64_t hash = 1;
        const auto add = [&hash](std::uint64_t value) {
            hash = (hash ^ value) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        };
        for (const Instance& instance : instances_) {
            const ModuleCode& code = *instance.code;
            for (std::uint32_t at = code.masks; at < code.masks_end; ++at) add(get_lane(instance.block + at, true, lane));
            for (std::uint32_t at = code.words; at < code.words_end; at += 8 * LANES)
                add(get_lane(instance.block + at, false, lane));
            for (unsigned n = 0; n < code.n_memories; ++n) {
                const std::size_t words = code.memory[n].depth * code.memory[n].n_words;
                for (std::size_t word = 0; word < words; ++word) add(instance.memory(n)[word * LANES + lane]);
            }
        }
        return hash;
    }

    std::size_t bytes() const { return bytes_ / LANES; }

    // Whether the next edge changes nothing of a lane but its timers, nor any later one, as long as its pins stay.
    bool still(unsigned lane) const {
        const char* now = pins_ + std::size_t{lane} * design_.pin_bytes;
        return !(moved_ >> lane & 1) && !(restless_ && now[restless_->pin]) &&
               !std::memcmp(now, taken_ + std::size_t{lane} * design_.input_bytes, design_.input_bytes);
    }

    NamedRegisters& named() { return named_; }

private:
    char* pins(unsigned lane) { return pins_ + std::size_t{lane} * design_.pin_bytes; }

    void place() {
        std::size_t size = 0;
        for (unsigned n = 0; n < design_.n_instances; ++n)
            size += (design_.instances[n].module->size + kLine - 1) / kLine * kLine;
        store_ = zeros(size);
        bytes_ = size;
        char* at = aligned(store_.get());
        instances_.reserve(design_.n_instances);
        for (unsigned n = 0; n < design_.n_instances; ++n) {
            const InstanceCode& one = design_.instances[n];
            const ModuleCode& code = *one.module;
            Instance& instance = instances_.emplace_back(Instance{&code, one.path, at, {}});
            at += (code.size + kLine - 1) / kLine * kLine;
            for (unsigned m = 0; m < code.n_memories; ++m) {
                const std::size_t count = code.memory[m].depth * code.memory[m].n_words * LANES * 8;
                bytes_ += count;
                instance.memories.push_back(zeros(count));
                instance.pointer<std::uint64_t>(code.memories, m) =
                    reinterpret_cast<std::uint64_t*>(aligned(instance.memories.back().get()));
            }
            instance.pointer<std::uint64_t>(code.alarm, 0) = &alarm_;
            instance.pointer<unsigned>(code.moved, 0) = &moved_;
            if (one.around >= 0)
                instances_[std::size_t(one.around)].pointer<char>(
                    instances_[std::size_t(one.around)].code->children, one.slot) = instance.block;
        }
        for (unsigned stage = 0; stage < design_.n_stages; ++stage)
            for (const Instance& instance : instances_) {
                if (stage >= instance.code->n_stages) continue;
                const unsigned first = stage ? instance.code->stage_ends[stage - 1] : 0;
                for (unsigned word = first; word < instance.code->stage_ends[stage]; ++word) {
                    const Function* parts = instance.code->parts + 64 * word;
                    std::uint64_t all = 0;
                    for (unsigned bit = 0; bit < 64; ++bit) all |= std::uint64_t{parts[bit] != nullptr} << bit;
                    turns_.push_back({instance.activity(0) + word, all, parts, instance.block});
                }
            }
    }

    // Who follows outputs of instances, and, of the top, pins.
    void connect() {
        std::vector<std::vector<std::vector<Listener>>> listeners(instances_.size());
        for (std::size_t n = 0; n < instances_.size(); ++n) listeners[n].resize(instances_[n].code->n_outputs);
        for (unsigned n = 0; n < design_.n_followers; ++n) {
            const Follower& one = design_.followers[n];
            const Instance& around = instances_[std::size_t(design_.instances[one.instance].around)];
            listeners[one.instance][one.output].push_back({around.activity(0) + one.word, one.bits});
        }
        const unsigned n_outputs = design_.n_ports - design_.n_inputs;
        dirty_.resize(n_outputs / 64 + 1);
        for (unsigned n = 0; n < instances_[0].code->n_outputs; ++n)
            listeners[0][n].push_back({&dirty_[n / 64], std::uint64_t{1} << n % 64});
        std::size_t count = 0;
        for (const auto& of : listeners)
            for (const auto& each : of) count += each.size() + 1;
        listeners_.reserve(count);
        for (std::size_t n = 0; n < instances_.size(); ++n)
            for (std::size_t output = 0; output < listeners[n].size(); ++output) {
                instances_[n].pointer<Listener>(instances_[n].code->listeners, output) =
                    listeners_.data() + listeners_.size();
                for (const Listener& each : listeners[n][output]) listeners_.push_back(each);
                listeners_.push_back({nullptr, 0});
            }
    }

    // The values that a lane begins with.
    void begin(unsigned lane, std::uint64_t seed) {
        for (const Instance& instance : instances_) {
            const ModuleCode& code = *instance.code;
            const std::uint64_t own = mixed(seed) ^ hash_of(instance.path.c_str());
            for (unsigned n = 0; n < code.n_starts; ++n) {
                const Start& start = code.starts[n];
                std::uint64_t value = start.value;
                if (start.width && seed) value = mixed(own + start.at) >> (64 - start.width);
                set_lane(instance.block + start.at, start.is_mask, lane, value);
            }
            for (unsigned m = 0; m < code.n_memories; ++m)
                for (unsigned n = 0; n < code.memory[m].n_starts; ++n) {
                    const MemoryStart& start = code.memory[m].starts[n];
                    instance.memory(m)[(start.address * code.memory[m].n_words + start.word) * LANES + lane] = start.value;
                }
        }
    }

    void mark_all() {
        for (const Turn& turn : turns_) *turn.marks = turn.all;
    }

    void evaluate() {
        if (thorough_) mark_all();
        for (const Turn& turn : turns_) {
            std::uint64_t marks = *turn.marks;
            if (!marks) continue;
            *turn.marks = 0;
            for (; marks; marks &= marks - 1) turn.parts[std::countr_zero(marks)](turn.block);
        }
        for (std::size_t word = 0; word < dirty_.size(); ++word)
            for (std::uint64_t marks = std::exchange(dirty_[word], 0); marks; marks &= marks - 1)
                put(design_.ports[design_.n_inputs + 64 * word + unsigned(std::countr_zero(marks))]);
    }

    // An output to the pins of all lanes.
    void put(const PortCode& port) {
        const char* from = instances_[0].block + port.at;
        char* to = pins_ + port.pin;
        if (port.width == 1) {
            for (unsigned lane = 0; lane < n_; ++lane, to += design_.pin_bytes) *to = *from >> lane & 1;
            return;
        }
        const auto* words = reinterpret_cast<const std::uint64_t*>(from);
        for (unsigned lane = 0; lane < n_; ++lane, to += design_.pin_bytes)
            for (unsigned done = 0; done < port.pin_bytes; done += 8)
                std::memcpy(to + done, words + (done / 8) * LANES + lane, std::min(8u, port.pin_bytes - done));
    }

    void take_inputs() {
        for (unsigned lane = 0; lane < n_; ++lane) {
            char* now = pins(lane);
            char* before = taken_ + std::size_t{lane} * design_.input_bytes;
            if (!std::memcmp(now, before, design_.input_bytes)) continue;
            for (unsigned n = 0; n < design_.n_inputs; ++n) {
                const PortCode& port = design_.ports[n];
                if (!std::memcmp(now + port.pin, before + port.pin, port.pin_bytes)) continue;
                if (port.at) take(port, lane, now + port.pin);
            }
            std::memcpy(before, now, design_.input_bytes);
        }
    }

    void take(const PortCode& port, unsigned lane, const char* pin) {
        char* to = instances_[0].block + port.at;
        if (port.width == 1) {
            set_lane(to, true, lane, static_cast<unsigned char>(*pin));
        } else {
            for (unsigned done = 0; done < port.pin_bytes; done += 8) {
                std::uint64_t word = 0;
                std::memcpy(&word, pin + done, std::min(8u, port.pin_bytes - done));
                const unsigned left = port.width - 8 * done;
                if (left < 64) word &= (std::uint64_t{1} << left) - 1;
                set_lane(to + done * LANES, false, lane, word);
            }
        }
        mark(port);
    }

    void mark(const PortCode& port) {
        for (unsigned n = 0; n < port.n_marks; ++n) instances_[0].activity(0)[port.marks[n].word] |= port.marks[n].bits;
    }

    // Timers go on as if so many cycles had passed in which nothing else changes.
    void pass_time(std::uint64_t cycles) {
        for (const Instance& instance : instances_)
            for (unsigned n = 0; n < instance.code->n_timers; ++n) {
                const TimerCode& timer = instance.code->timers[n];
                char* const at = instance.block + timer.at;
                for (unsigned lane = 0; lane < LANES; ++lane)
                    set_lane(at, false, lane,
                             (get_lane(at, false, lane) + cycles * timer.step) & ~std::uint64_t{0} >> (64 - timer.width));
                for (unsigned mark = 0; mark < timer.n_marks; ++mark)
                    instance.activity(0)[timer.marks[mark].word] |= timer.marks[mark].bits;
            }
    }

    // Registers and memories take what the last evaluation has left for them.
    void edge() {
        if (alarm_) look_at_assertions();
        moved_ = 0;
        for (const Instance& instance : instances_) {
            const ModuleCode& code = *instance.code;
            std::uint64_t* now = instance.activity(0);
            std::uint64_t* next = instance.activity(1);
            std::uint64_t* due = instance.activity(2);
            for (unsigned word = 0; word < code.n_activity; ++word) {
                for (std::uint64_t marks = due[word]; marks; marks &= marks - 1) {
                    const unsigned part = 64 * word + unsigned(std::countr_zero(marks));
                    copy(instance.block, code.runs[part]);
                    if (code.writes[part]) code.writes[part](instance.block);
                }
                due[word] = 0;
                now[word] |= next[word];
                next[word] = 0;
            }
        }
    }

    static void copy(char* block, const Run& run) {
        std::memcpy(block + run.masks, block + run.next_masks, run.n_masks);
        auto* to = reinterpret_cast<V*>(block + run.words);
        const auto* from = reinterpret_cast<const V*>(block + run.next_words);
        for (unsigned n = 0; n < run.n_words; ++n) to[n] = from[n];
    }

    // Assertions stand for the edge to come.
    void look_at_assertions() {
        bool some = false;
        for (const Instance& instance : instances_)
            for (unsigned n = 0; n < instance.code->n_assertions; ++n) {
                const AssertionCode& one = instance.code->assertions[n];
                const auto lanes = static_cast<unsigned char>(instance.block[one.at]);
                some |= lanes != 0;
                for (unsigned lane = 0; lane < n_; ++lane)
                    if (lanes >> lane & 1 && !failures_[lane]) failures_[lane] = one.text;
            }
        if (!some) alarm_ = 0;
    }

    // All values of an instance, with those that an edge is to give it.
    static void copy_lane(const Instance& to, unsigned lane, const Instance& from, unsigned there) {
        const ModuleCode& code = *to.code;
        for (std::uint32_t at = code.masks; at < code.words; ++at)
            set_lane(to.block + at, true, lane, get_lane(from.block + at, true, there));
        for (std::uint32_t at = code.words; at < code.size; at += 8 * LANES)
            set_lane(to.block + at, false, lane, get_lane(from.block + at, false, there));
        for (unsigned word = 0; word < code.n_activity; ++word) {
            to.activity(1)[word] |= from.activity(1)[word];
            to.activity(2)[word] |= from.activity(2)[word];
        }
        for (unsigned n = 0; n < code.n_memories; ++n)
            for (std::size_t word = 0; word < code.memory[n].depth * code.memory[n].n_words; ++word)
                to.memory(n)[word * LANES + lane] = from.memory(n)[word * LANES + there];
    }

    const Design& design_;
    unsigned n_;
    Bytes store_, pins_store_, taken_store_;
    char *pins_ = nullptr, *taken_ = nullptr;  // of each lane; inputs as they were taken last
    std::size_t bytes_ = 0;
    std::vector<Instance> instances_;
    std::vector<Turn> turns_;
    std::vector<Listener> listeners_;
    std::vector<std::uint64_t> dirty_;         // outputs that have changed
    std::uint64_t alarm_ = 0;                  // some assertion has changed
    bool thorough_ = false;                    // nothing is left out
    const char* failures_[LANES] = {};
    unsigned moved_ = 0;                       // lanes in which the next edge changes something beside timers
    const PortCode* restless_ = nullptr;       // says that a timer's value reaches something
    std::vector<std::unique_ptr<LaneModel>> models_;
    NamedRegisters named_{instances_, [this] {
        mark_all();
        evaluate();
    }};
};

const char* LaneModel::failed() const { return bank_.failed(lane_); }
bool LaneModel::still() const { return bank_.still(lane_); }
std::uint64_t LaneModel::fingerprint() { return bank_.fingerprint(lane_); }
std::size_t LaneModel::bytes() const { return bank_.bytes(); }
std::vector<std::string> LaneModel::register_names() { return bank_.named().names(); }
Register LaneModel::find_register(const std::string& name) { return bank_.named().find(lane_, name); }

}  // namespace

#define CONIC_NAMED_(lanes) make_bank_of_##lanes
#define CONIC_NAMED(lanes) CONIC_NAMED_(lanes)
std::unique_ptr<Bank> CONIC_NAMED(LANES)(const Design& design, const std::vector<Born>& born) {
    return std::make_unique<LaneBank>(design, born);
}

}  // namespace conic::lanes
