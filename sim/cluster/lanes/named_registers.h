// Registers and memories of all lanes by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instance.h"
#include "model.h"

// Compiled for each number of lanes: none of these is another's.
namespace conic::lanes { namespace {

class NamedRegisters {
public:
    // `changed` is called after a register has got a value from outside.
    NamedRegisters(const std::vector<Instance>& instances, std::function<void()> changed)
        : instances_(instances), changed_(std::move(changed)) {}

    const std::vector<std::string>& names() {
        index();
        return names_;
    }

    // Raises std::out_of_range.
    Register find(unsigned lane, const std::string& name) {
        index();
        if (const auto memory = memories_.find(name); memory != memories_.end())
            return memory_as_register(lane, *memory->second.first, memory->second.second);
        const auto found = registers_.find(name);
        if (found == registers_.end()) throw std::out_of_range("there is no register " + name);
        const auto runs = found->second;
        Register made;
        for (const auto& [instance, run] : runs) {
            const unsigned last = run->first_bit + run->width;
            if (made.known.size() < (last + 63) / 64) made.known.resize((last + 63) / 64);
            made.width = std::max(made.width, last);
            made.identity += std::to_string(reinterpret_cast<std::uintptr_t>(instance->block) + run->at) + ":" +
                             std::to_string(run->low) + ":" + std::to_string(run->first_bit) + ":" +
                             std::to_string(run->width) + " ";
            for (unsigned bit = run->first_bit; bit < last; ++bit) made.known[bit / 64] |= std::uint64_t{1} << bit % 64;
        }
        made.n_words = made.known.size();
        made.get = [runs, lane, n = made.n_words](std::uint64_t* words) {
            std::fill_n(words, n, 0);
            for (const auto& [instance, run] : runs) {
                std::uint64_t bits = get_lane(instance->block + run->at, run->is_mask, lane) >> run->low;
                if (run->width < 64) bits &= (std::uint64_t{1} << run->width) - 1;
                const unsigned low = run->first_bit % 64;
                words[run->first_bit / 64] |= bits << low;
                if (low + run->width > 64) words[run->first_bit / 64 + 1] |= bits >> (64 - low);
            }
        };
        made.set = [this, runs, lane](const std::uint64_t* words) {
            for (const auto& [instance, run] : runs) {
                std::uint64_t value = get_lane(instance->block + run->at, run->is_mask, lane);
                for (unsigned bit = 0; bit < run->width; ++bit) {
                    const unsigned place = run->first_bit + bit;
                    const std::uint64_t level = words[place / 64] >> place % 64 & 1;
                    value = (value & ~(std::uint64_t{1} << (run->low + bit))) | level << (run->low + bit);
                }
                set_lane(instance->block + run->at, run->is_mask, lane, value);
            }
            changed_();
        };
        return made;
    }

private:
    Register memory_as_register(unsigned lane, const Instance& instance, unsigned index) {
        const MemoryCode& code = instance.code->memory[index];
        const std::size_t n = code.depth * code.n_words;
        std::uint64_t* const words = instance.memory(index);
        Register made;
        made.n_words = n;
        made.is_memory = true;
        // Bits of a word above the width of its value are 0.
        made.known.assign(n, ~std::uint64_t{0});
        for (std::size_t word = code.n_words - 1; word < n; word += code.n_words)
            made.known[word] >>= 64 * code.n_words - code.width;
        made.get = [=](std::uint64_t* to) {
            for (std::size_t word = 0; word < n; ++word) to[word] = words[word * LANES + lane];
        };
        made.set = [=, this, known = made.known](const std::uint64_t* from) {
            for (std::size_t word = 0; word < n; ++word) words[word * LANES + lane] = from[word] & known[word];
            changed_();
        };
        return made;
    }

    void index() {
        if (!names_.empty()) return;
        for (const Instance& instance : instances_)
            for (unsigned n = 0; n < instance.code->n_registers; ++n) {
                const RegisterCode& run = instance.code->registers[n];
                const std::string name = instance.path.empty() ? run.name : instance.path + "." + run.name;
                auto& runs = registers_[name];
                if (runs.empty()) names_.push_back(name);
                runs.push_back({&instance, &run});
            }
        for (const Instance& instance : instances_)
            for (unsigned n = 0; n < instance.code->n_memories; ++n) {
                const std::string own = instance.code->memory[n].name;
                names_.push_back(instance.path.empty() ? own : instance.path + "." + own);
                memories_[names_.back()] = {&instance, n};
            }
    }

    const std::vector<Instance>& instances_;
    std::function<void()> changed_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::pair<const Instance*, unsigned>> memories_;
    std::unordered_map<std::string, std::vector<std::pair<const Instance*, const RegisterCode*>>> registers_;
};

}}  // namespace conic::lanes
