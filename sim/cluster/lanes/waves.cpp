// Waveforms of clusters in the lanes of words: the registers and other named values of every node, each from its own lane.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fstcpp/fstcpp_writer.h"
#include "model.h"

namespace conic {

namespace {

struct Variable {
    fst::Handle handle;
    Register at;
    std::vector<uint64_t> shown;  // value that the file has; empty before the first
};

class LaneWaves : public Waves {
public:
    void* context() override { return nullptr; }
    void add(Model& model, const std::string& name) override { models_.emplace_back(name, &model); }

    void open(const char* path) override {
        writer_.open(path);
        writer_.setWriter("conic");
        for (const auto& [name, model] : models_) {
            enter(name);
            clocks_.push_back(writer_.createVar(kWire, kImplicit, 1, "clk", 0));
            // Sorted, the names of a module stand together, and so do those of the modules in it.
            std::vector<std::vector<std::string>> paths;
            for (const std::string& each : model->register_names()) paths.push_back(split(each));
            std::sort(paths.begin(), paths.end());
            std::vector<std::string> scope;
            for (const auto& path : paths) add_variable(*model, path, scope);
            for (size_t n = 0; n < scope.size(); ++n) writer_.upscope();
            writer_.upscope();
        }
    }

    void dump(uint64_t time) override {
        writer_.emitTimeChange(time);
        for (const fst::Handle clock : clocks_) writer_.emitValueChange(clock, uint64_t{time % 2 == 0});
        if (time % 2) return;
        for (Variable& variable : variables_) {
            value_.resize(variable.at.n_words);
            variable.at.get(value_.data());
            if (value_ == variable.shown) continue;
            variable.shown = value_;
            if (value_.size() == 1)
                writer_.emitValueChange(variable.handle, value_[0]);
            else
                writer_.emitValueChange(variable.handle, value_.data());
        }
    }

    void close() override { writer_.close(); }

private:
    static constexpr auto kWire = fst::Hierarchy::VarType::VCD_WIRE;
    static constexpr auto kImplicit = fst::Hierarchy::VarDirection::IMPLICIT;

    void enter(const std::string& name) {
        writer_.setScope(fst::Hierarchy::ScopeType::VCD_MODULE, name, std::string());
    }

    static std::vector<std::string> split(const std::string& name) {
        std::vector<std::string> parts;
        size_t begin = 0;
        for (size_t at; (at = name.find('.', begin)) != std::string::npos; begin = at + 1)
            parts.push_back(name.substr(begin, at - begin));
        parts.push_back(name.substr(begin));
        return parts;
    }

    void add_variable(Model& model, const std::vector<std::string>& path, std::vector<std::string>& scope) {
        std::string name;
        for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
        Register found = model.find_register(name);
        if (found.is_memory) return;
        size_t same = 0;
        while (same < scope.size() && same + 1 < path.size() && scope[same] == path[same]) ++same;
        while (scope.size() > same) {
            scope.pop_back();
            writer_.upscope();
        }
        for (; scope.size() + 1 < path.size(); scope.push_back(path[scope.size()])) enter(path[scope.size()]);
        // A value that goes through several modules has several names.
        fst::Handle& known = handles_[{&model, found.identity + std::to_string(found.width)}];
        const fst::Handle handle = writer_.createVar(kWire, kImplicit, found.width, path.back(), known);
        if (known) return;
        known = handle;
        variables_.push_back({handle, std::move(found), {}});
    }

    std::vector<std::pair<std::string, Model*>> models_;
    std::vector<fst::Handle> clocks_;
    std::vector<Variable> variables_;
    std::map<std::pair<const Model*, std::string>, fst::Handle> handles_;
    std::vector<uint64_t> value_;
    fst::Writer writer_;
};

}  // namespace

std::unique_ptr<Waves> make_waves() { return std::make_unique<LaneWaves>(); }

}  // namespace conic
