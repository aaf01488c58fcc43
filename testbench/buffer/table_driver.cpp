// Churns a Verilated tag table at a given load, with all of its ports busy at once, and checks every answer against
// std::unordered_map.
//
// Usage: Vtag_table strict|hostile OPERATIONS TARGET SLOTS LATENCY SEED PAUSE LOOKUPS < keys
// The keys come as lines of hexadecimal digits on standard input, in the order in which they are inserted; the list is
// gone through again and again. One JSON object goes to standard output, mismatches in words to standard error.

#include <cinttypes>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "Vtag_table.h"
#include "verilated.h"

namespace {

constexpr unsigned words = KEY_WORDS;  // 32-bit words of a key
constexpr uint64_t printed_mismatches = 10;
constexpr uint64_t hostile_wait = 500;     // cycles after which a consumer frees something for hostile keys
constexpr uint64_t patience = 20000;   // cycles without any progress after which the table counts as stuck

struct Random {
    uint64_t state;

    uint64_t next() {
        state += 0x9E3779B97F4A7C15ull;
        uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
        return mixed ^ (mixed >> 31);
    }
    uint64_t below(uint64_t bound) { return next() % bound; }
    bool percent(unsigned chance) { return below(100) < chance; }
};

// What the table should hold. A key is known by its number in the list.
enum class State : uint8_t { absent, entering, there, leaving };

struct Record {
    State state = State::absent;
    uint32_t slot = 0;
    uint64_t entered = 0, left = 0;  // when its last insertion and removal were taken
    uint32_t looked = 0;             // look-ups of it on their way
};

struct Lookup {
    uint32_t number;
    uint64_t cycle, stalls;
    bool present, absent;  // when it was taken
    uint32_t slot;
};

struct Insertion {
    uint32_t number, slot;
    uint64_t cycle;
    bool duplicate;
};

struct Histogram {
    std::vector<uint64_t> counts;
    uint64_t sum = 0, n = 0, most = 0, least = UINT64_MAX;

    void add(uint64_t value) {
        if (counts.size() <= value) counts.resize(value + 1);
        counts[value]++;
        sum += value;
        n++;
        if (value > most) most = value;
        if (value < least) least = value;
    }
    double mean() const { return n ? double(sum) / double(n) : 0; }
    uint64_t percentile(double part) const {
        uint64_t seen = 0;
        for (uint64_t value = 0; value < counts.size(); value++)
            if (double(seen += counts[value]) >= part * double(n)) return value;
        return most;
    }
    void print(const char *name) const {
        std::printf("\"%s\": {\"min\": %" PRIu64 ", \"mean\": %.4f, \"p99\": %" PRIu64 ", \"max\": %" PRIu64 "}", name,
                    n ? least : 0, mean(), percentile(0.99), most);
    }
};

struct Bench {
    VerilatedContext context;
    Vtag_table table{&context};
    Random random;
    uint64_t cycle = 0, mismatches = 0;
    std::vector<std::vector<uint32_t>> keys;
    std::vector<Record> records;
    std::unordered_map<std::string, uint32_t> numbers;
    std::deque<Lookup> lookups;
    std::deque<Insertion> insertions;
    std::unordered_map<uint32_t, uint32_t> removals;  // slot to key
    std::vector<uint32_t> members, member_at;          // keys that are there, and where each stands in the list
    std::vector<uint32_t> free_slots;
    Histogram lookup_cycles, insert_cycles, steps;

    explicit Bench(uint64_t seed) : random{seed} {}

    void wrong(const char *what, uint32_t number) {
        if (mismatches++ < printed_mismatches)
            std::fprintf(stderr, "cycle %" PRIu64 ": key %u: %s\n", cycle, number, what);
    }

    template <typename Port> void set(Port &port, uint32_t number) {
        const auto &key = keys[number];
        for (unsigned word = 0; word < words; word++) port[word] = key[word];
    }

    void step() {
        table.clk = 0;
        table.eval();
    }
    void edge() {
        table.clk = 1;
        table.eval();
        cycle++;
    }
    void join(uint32_t number) {
        member_at[number] = uint32_t(members.size());
        members.push_back(number);
    }
    void part(uint32_t number) {
        const uint32_t at = member_at[number], last = members.back();
        members[at] = last;
        member_at[last] = at;
        members.pop_back();
    }
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 9) {
        std::fprintf(stderr, "usage: %s strict|hostile OPERATIONS TARGET SLOTS LATENCY SEED PAUSE LOOKUPS < keys\n", argv[0]);
        return 2;
    }
    const std::string mode = argv[1];
    const uint64_t operations = std::strtoull(argv[2], nullptr, 10);
    const uint64_t target = std::strtoull(argv[3], nullptr, 10);     // keys that are kept in the table
    const uint64_t slots = std::strtoull(argv[4], nullptr, 10);
    const uint64_t latency = std::strtoull(argv[5], nullptr, 10);    // of every look-up; 0: any
    const uint64_t seed = std::strtoull(argv[6], nullptr, 10);
    const unsigned pause = unsigned(std::strtoul(argv[7], nullptr, 10));
    const bool hostile = mode == "hostile";  // some keys can't all be placed: frees make room
    const unsigned asking = unsigned(std::strtoul(argv[8], nullptr, 10));

    Bench bench(seed);
    Vtag_table &table = bench.table;
    Random &random = bench.random;
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<uint32_t> key(words);
        line.insert(0, words * 8 - line.size(), '0');
        for (unsigned word = 0; word < words; word++)
            key[word] = uint32_t(std::stoul(line.substr((words - 1 - word) * 8, 8), nullptr, 16));
        if (!bench.numbers.emplace(line, uint32_t(bench.keys.size())).second) {
            std::fprintf(stderr, "key %s is there twice\n", line.c_str());
            return 2;
        }
        bench.keys.push_back(key);
    }
    const uint64_t n_keys = bench.keys.size();
    if (n_keys < target + 64) {
        std::fprintf(stderr, "%" PRIu64 " keys are too few for %" PRIu64 " in the table\n", n_keys, target);
        return 2;
    }
    bench.records.resize(n_keys);
    bench.member_at.resize(n_keys);
    for (uint64_t slot = slots; slot-- > 0;) bench.free_slots.push_back(uint32_t(slot));
    auto &records = bench.records;

    table.rst = 1;
    for (int k = 0; k < 3; k++) bench.step(), bench.edge();
    table.rst = 0;
    bench.cycle = 1;  // 0 means never

    uint64_t next_key = 0, done_operations = 0, inserted = 0, removed = 0, answered = 0, hits = 0, duplicates = 0;
    uint64_t failures = 0, level_sum = 0, level_cycles = 0, level_peak = 0, stash_peak = 0, last_progress = 0, operations_before = 0;
    uint64_t stalls = 0, level = 0, measured_from = 0, waited = 0, waited_most = 0, wait = 0;
    bool filled = false, stuck = false;
    bool insert_valid = false, remove_valid = false, lookup_valid = false;
    uint32_t insert_key = 0, insert_slot = 0, remove_key = 0, lookup_key = 0;
    bool insert_again = false;
    const auto start = std::chrono::steady_clock::now();

    while (done_operations < operations && !stuck) {
        // Offers stand until they are taken.
        if (!insert_valid && !random.percent(pause) && level + bench.insertions.size() < target) {
            // Now and then a key that is there already.
            insert_again = !bench.members.empty() && random.percent(2);
            if (insert_again) insert_key = bench.members[random.below(bench.members.size())];
            else {
                for (uint64_t tries = 0; tries < n_keys; tries++) {
                    insert_key = uint32_t(next_key);
                    next_key = (next_key + 1) % n_keys;
                    if (records[insert_key].state == State::absent && !records[insert_key].looked) break;
                }
                if (records[insert_key].state != State::absent || records[insert_key].looked) continue;
            }
            if (!bench.free_slots.empty()) {
                insert_valid = true;
                insert_slot = bench.free_slots.back();
                bench.free_slots.pop_back();
            }
        }
        if (!remove_valid && filled && !bench.members.empty() && (level + 1 >= target || wait > hostile_wait) && !random.percent(pause)) {
            remove_key = bench.members[random.below(bench.members.size())];
            // A key that is being inserted once more is left alone: its duplicate would be none.
            bool again = insert_valid && insert_key == remove_key;
            for (const auto &other : bench.insertions) again |= other.number == remove_key;
            remove_valid = !again;
        }
        if (!lookup_valid && random.percent(asking)) {
            lookup_valid = true;
            // Keys that are there, that are not, and what is just changing.
            switch (random.below(4)) {
                case 0: lookup_key = uint32_t(random.below(n_keys)); break;
                case 1: lookup_key = insert_valid ? insert_key : uint32_t(random.below(n_keys)); break;
                case 2: lookup_key = remove_valid ? remove_key : uint32_t(random.below(n_keys)); break;
                default:
                    lookup_key = bench.members.empty() ? 0 : bench.members[random.below(bench.members.size())];
            }
        }
        table.insert_valid = insert_valid;
        if (insert_valid) bench.set(table.insert_key, insert_key), table.insert_slot = insert_slot;
        table.remove_valid = remove_valid;
        if (remove_valid) bench.set(table.remove_key, remove_key), table.remove_slot = records[remove_key].slot;
        table.lookup_valid = lookup_valid;
        if (lookup_valid) bench.set(table.lookup_key, lookup_key);
        table.o_lookup_ready = !random.percent(pause / 2);
        bench.step();

        const uint64_t now = bench.cycle;
        const bool insert_taken = insert_valid && table.insert_ready, remove_taken = remove_valid && table.remove_ready;
        const bool lookup_taken = lookup_valid && table.lookup_ready;
        const bool progress = insert_taken || remove_taken || lookup_taken || table.done || table.removed;
        wait = insert_valid && !insert_taken ? wait + 1 : 0;
        waited += wait != 0;
        if (wait > waited_most && bench.insertions.size() + level > 0) waited_most = wait;

        // Ends of insertions: look-ups taken from this cycle on find the key.
        if (table.done) {
            if (bench.insertions.empty()) {
                bench.wrong("an insertion ended that was not begun", 0);
            } else {
                const Insertion ended = bench.insertions.front();
                bench.insertions.pop_front();
                Record &record = records[ended.number];
                if (bool(table.duplicate) != ended.duplicate) bench.wrong("duplicate is wrong", ended.number);
                if (table.done_slot != ended.slot) bench.wrong("slot of an insertion is wrong", ended.number);
                bench.insert_cycles.add(now - ended.cycle);
                done_operations++;
                if (ended.duplicate) {
                    duplicates++;
                    bench.free_slots.insert(bench.free_slots.begin(), ended.slot);
                } else {
                    record.state = State::there;
                    record.slot = ended.slot;
                    bench.join(ended.number);
                    inserted++;
                    level++;
                }
            }
        }
        if (table.removed) {
            const auto found = bench.removals.find(table.removed_slot);
            if (found == bench.removals.end()) {
                bench.wrong("a slot came back that was not freed", table.removed_slot);
            } else {
                Record &record = records[found->second];
                record.state = State::absent;
                bench.removals.erase(found);
                bench.free_slots.push_back(table.removed_slot);
                removed++;
                level--;
                done_operations++;
            }
        }
        if (table.settled) bench.steps.add(table.steps);
        if (table.stash_level > stash_peak) stash_peak = table.stash_level;

        // Answers, in the order of the look-ups.
        if (table.o_lookup_valid && table.o_lookup_ready) {
            if (bench.lookups.empty()) {
                bench.wrong("an answer to no look-up", 0);
            } else {
                const Lookup lookup = bench.lookups.front();
                bench.lookups.pop_front();
                Record &record = records[lookup.number];
                record.looked--;
                const bool hit = table.answer_hit;
                // Removed or inserted while the look-up was on its way: either answer is right.
                const bool entered = record.entered >= lookup.cycle, left = record.left >= lookup.cycle;
                if (hit && lookup.absent && !entered) bench.wrong("found, but is not there", lookup.number);
                if (!hit && lookup.present && !left) bench.wrong("not found, but is there: lost", lookup.number);
                if (hit && lookup.present && table.answer_slot != lookup.slot) bench.wrong("found in a wrong slot", lookup.number);
                if (hit && !lookup.present && table.answer_slot != record.slot) bench.wrong("found in no slot of it", lookup.number);
                if (table.answer_error) bench.wrong("found with an error", lookup.number);
                const uint64_t took = now - lookup.cycle - (stalls - lookup.stalls);
                if (latency && took != latency) bench.wrong("the look-up's latency is not constant", lookup.number);
                bench.lookup_cycles.add(took);
                answered++;
                hits += hit;
                done_operations++;
            }
        }

        // Cycles in which answers wait for their consumer are not the table's.
        if (table.o_lookup_valid && !table.o_lookup_ready) stalls++;
        if (lookup_taken) {
            Record &record = records[lookup_key];
            record.looked++;
            bench.lookups.push_back({lookup_key, now, stalls, record.state == State::there,
                                     record.state == State::absent || record.state == State::leaving, record.slot});
            lookup_valid = false;
        }
        if (insert_taken) {
            Record &record = records[insert_key];
            const bool twice = record.state == State::there;
            bench.insertions.push_back({insert_key, insert_slot, now, twice});
            if (!twice) {
                record.state = State::entering;
                record.entered = now;
                record.slot = insert_slot;
            }
            insert_valid = false;
        }
        if (remove_taken) {
            // Look-ups taken from the next cycle on must not find it.
            Record &record = records[remove_key];
            record.state = State::leaving;
            record.left = now;
            bench.removals[record.slot] = remove_key;
            bench.part(remove_key);
            remove_valid = false;
        }

        filled |= level >= target;
        if (filled && !measured_from) measured_from = now, operations_before = done_operations;
        if (filled) level_sum += level, level_cycles++;
        if (level > level_peak) level_peak = level;
        if (progress) last_progress = now;
        // Below its capacity the table must take every insertion in the end. Frees go on only once it has been filled.
        if (wait > (hostile ? hostile_wait : patience)) {
            if (hostile) filled = true;
            else stuck = true;
        }
        if (now - last_progress > patience) stuck = true;
        bench.edge();
    }
    const uint64_t cycles = bench.cycle, measured = filled ? cycles - measured_from : 0;
    const uint64_t measured_operations = filled ? done_operations - operations_before : 0;
    if (stuck) {
        failures++;
        std::fprintf(stderr, "cycle %" PRIu64 ": an insertion found no place at %" PRIu64 " of %" PRIu64 " keys\n",
                     bench.cycle, level, target);
    }

    // Nothing may be lost at the end either: everything that should be there is looked up once more, then all of it
    // is freed, and the table must be empty.
    table.insert_valid = 0, table.remove_valid = 0, table.lookup_valid = 0, table.o_lookup_ready = 1;
    const auto settle = [&](unsigned cycles) {
        for (unsigned k = 0; k < cycles; k++) {
            bench.step();
            if (table.done && !bench.insertions.empty()) {
                const Insertion ended = bench.insertions.front();
                bench.insertions.pop_front();
                if (bool(table.duplicate) != ended.duplicate) bench.wrong("duplicate is wrong", ended.number);
                if (!ended.duplicate) {
                    records[ended.number].state = State::there;
                    bench.join(ended.number);
                }
            }
            if (table.removed) bench.removals.erase(table.removed_slot);
            bench.edge();
        }
    };
    settle(4000);
    if (!bench.removals.empty()) bench.wrong("a removal did not end", bench.removals.begin()->second);
    const auto ask = [&](uint32_t number, bool expected) {
        bench.set(table.lookup_key, number);
        table.lookup_valid = 1;
        for (uint64_t k = 0; k < patience; k++) {
            bench.step();
            const bool ready = table.lookup_ready;
            bench.edge();
            if (ready) break;
        }
        table.lookup_valid = 0;
        for (uint64_t k = 0; k < patience; k++) {
            bench.step();
            const bool valid = table.o_lookup_valid, hit = table.answer_hit;
            const uint32_t slot = table.answer_slot;
            bench.edge();
            if (!valid) continue;
            if (hit != expected) bench.wrong(expected ? "lost at the end" : "still there at the end", number);
            if (hit && expected && slot != records[number].slot) bench.wrong("in a wrong slot at the end", number);
            return;
        }
        bench.wrong("a look-up without an answer", number);
    };
    const std::vector<uint32_t> members = bench.members;
    const uint64_t left = members.size();
    for (uint32_t number : members) ask(number, true);
    for (uint32_t number : members) {
        bench.set(table.remove_key, number);
        table.remove_slot = records[number].slot;
        table.remove_valid = 1;
        uint64_t seen = 0;
        bool taken = false;
        for (uint64_t k = 0; k < patience && !seen; k++) {
            bench.step();
            taken = table.remove_valid && table.remove_ready;
            if (table.removed) seen = 1;
            bench.edge();
            if (taken) table.remove_valid = 0;
        }
        if (!seen) bench.wrong("a free without effect at the end", number);
    }
    settle(16);
    for (uint32_t number : members) ask(number, false);
    if (table.stash_level) bench.wrong("the stash is not empty at the end", 0);

    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"operations\": %" PRIu64 ", \"failures\": %" PRIu64 ", \"mismatches\": %" PRIu64 ", \"inserted\": %" PRIu64
                ", \"removed\": %" PRIu64 ", \"lookups\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"duplicates\": %" PRIu64
                ", \"checked_at_end\": %" PRIu64 ", \"keys\": %" PRIu64 ", \"keys_peak\": %" PRIu64 ", \"keys_mean\": %.2f, ",
                done_operations, failures, bench.mismatches, inserted, removed, answered, hits, duplicates, left, target,
                level_peak, level_cycles ? double(level_sum) / double(level_cycles) : double(level));
    bench.lookup_cycles.print("lookup_cycles");
    std::printf(", ");
    bench.steps.print("insert_steps");
    std::printf(", ");
    bench.insert_cycles.print("insert_cycles");
    std::printf(", \"insert_step_counts\": [");
    for (size_t k = 0; k < bench.steps.counts.size(); k++) std::printf("%s%" PRIu64, k ? ", " : "", bench.steps.counts[k]);
    std::printf("], \"stash_peak\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"operations_per_cycle\": %.4f"
                ", \"insert_wait_cycles\": %" PRIu64 ", \"insert_wait_max\": %" PRIu64 ", \"seconds\": %.2f}\n",
                stash_peak, cycles, double(measured_operations) / double(measured ? measured : 1), waited, waited_most,
                seconds);
    return failures || bench.mismatches;
}
