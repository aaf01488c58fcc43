#include "cluster.h"

#include <algorithm>

namespace conic {

namespace {

// A longer one saves little, and a run is over at the end of a window only.
constexpr uint64_t kLongestWindow = 64;
// Evaluations in the window before from which on the next one is shared: waking the others takes as long as some.
constexpr uint64_t kLeastShared = 12;

}  // namespace

Cluster::Cluster(uint32_t nodes, uint32_t switches, uint64_t memory_bytes, const MemoryTiming& memory,
                 const LinkTiming& links, uint64_t seed, const Execution& execution, bool random_start)
    : memory_timing_(memory), link_timing_(links), execution_(execution), waves_(make_waves()), random_start_(random_start) {
    add_words(nodes, kNicLanes, false, seed, memory_bytes);
    add_words(switches, kSwitchLanes, true, seed, 0);
    count_words();
    // Models of one waveform share a context, which wants one thread.
    const size_t most = waves_ ? 1 : words_.size();
    execution_.threads = std::clamp<unsigned>(execution_.threads, 1, static_cast<unsigned>(most));
    workers_ = std::make_unique<Workers>(execution_.threads, [this](unsigned thread) { share(thread); });
}

// Words of NICs, or of switches, with so many of them in each.
void Cluster::add_words(uint32_t count, unsigned lanes, bool is_switch, uint64_t seed, uint64_t memory_bytes) {
    void* context = waves_ ? waves_->context() : nullptr;
    for (uint32_t first = 0; first < count; first += lanes) {
        const uint32_t last = std::min(count, first + lanes);
        std::vector<Born> born;
        for (uint32_t n = first; n < last; ++n)
            born.push_back({(is_switch ? "switch" : "nic") + std::to_string(n),
                            random_start_ ? seed * 2 + (is_switch ? n * 104729 + 2 : n * 7919 + 1) : 0});
        Word& word = *words_.emplace_back(
            std::make_unique<Word>(is_switch ? make_switches(born, context) : make_nics(born, context)));
        for (uint32_t n = first; n < last; ++n) {
            Model& model = word.bank().model(n - first);
            if (is_switch) {
                stations_.push_back(std::make_unique<Station>(born[n - first].name, n, model));
            } else {
                auto node = std::make_unique<Node>(n, model, memory_bytes, memory_timing_, seed * 1000003 + n);
                nodes_.push_back(node.get());
                stations_.push_back(std::move(node));
            }
            word.add(*stations_.back());
        }
    }
}

Cluster::~Cluster() {
    if (dumping_) waves_->close();  // while the models are still there
}

// What there is one of for each word.
void Cluster::count_words() {
    faults_.resize(words_.size());
    taken_ = std::make_unique<std::atomic<uint64_t>[]>(words_.size());
    window_number_ = 0;
}

uint32_t Cluster::add_player(unsigned credits) {
    const auto number = static_cast<uint32_t>(players_.size());
    auto model = std::make_unique<PlayedModel>(stations_.front()->model().flit_bytes, credits);
    auto player = std::make_unique<Player>(number, *model);
    words_.push_back(std::make_unique<Word>(std::move(model)));
    words_.back()->add(*player);
    players_.push_back(player.get());
    stations_.push_back(std::move(player));
    count_words();
    return static_cast<uint32_t>(stations_.size()) - 1;
}

void Cluster::set_wires(const WireRates& rates) {
    for (auto& station : stations_)
        for (unsigned port = 0; port < station->n_links(); ++port) station->link(port).wire.set(rates);
}

void Cluster::connect(uint32_t a, unsigned a_port, uint32_t b, unsigned b_port, uint64_t seed) {
    Lane& there = *lanes_.emplace_back(std::make_unique<Lane>());
    Lane& back = *lanes_.emplace_back(std::make_unique<Lane>());
    stations_.at(a)->link(a_port).connect(there, back, link_timing_, seed * 2 + 1);
    stations_.at(b)->link(b_port).connect(back, there, link_timing_, seed * 2 + 2);
}

void Cluster::reset() {
    for (auto& word : words_) word->reset();
    now_ = 0;
}

bool Cluster::settled() const {
    return std::all_of(stations_.begin(), stations_.end(), [](const auto& station) { return station->settled(); });
}

bool Cluster::run(uint64_t most) {
    const uint64_t end = now_ + most;
    settled_at_ = now_;
    for (auto& station : stations_) station->wake();
    while (!settled() && now_ < end) window(end - now_);
    for (const auto& station : stations_) settled_at_ = std::max(settled_at_, station->settled_at());
    return settled();
}

bool Cluster::await_registers(const Station& station, uint64_t most) {
    const uint64_t end = now_ + most;
    for (auto& each : stations_) each->wake();
    while (!station.registers.idle() && now_ < end) window(std::min(end - now_, kLongestWindow));
    return station.registers.idle();
}

void Cluster::step(uint64_t cycles) {
    const uint64_t end = now_ + cycles;
    for (auto& station : stations_) station->wake();
    while (now_ < end) window(end - now_);
}

// As many cycles as nobody can hear of anybody in, at most so many.
void Cluster::window(uint64_t cycles) {
    const uint64_t longest = std::clamp<uint64_t>(link_timing_.latency, 1, kLongestWindow);
    const uint64_t length = std::min(longest, cycles);
    const bool lockstep = in_lockstep(length);
    if (lockstep != was_in_lockstep_)
        for (auto& word : words_) word->change_step(lockstep ? parity_ : 0);
    was_in_lockstep_ = lockstep;
    if (lockstep) {
        for (uint64_t n = 0; n < length; ++n) cycle_in_lockstep();
        return;
    }
    window_apart(now_ + length);
    leap(now_ + cycles - length, longest);
}

bool Cluster::in_lockstep(uint64_t length) const {
    const bool dumps = now_ < dump_until_ && now_ + length > dump_from_;
    return execution_.lockstep || checking_ || dumps || link_timing_.latency == 0;
}

void Cluster::window_apart(uint64_t until) {
    until_ = until;
    ++window_number_;
    parity_ ^= 1;
    const uint64_t before = evaluated_;
    if (work_ >= kLeastShared && execution_.threads > 1)
        workers_->run();
    else
        share(0);
    evaluated_ = evaluated();
    work_ = evaluated_ - before;
    // The earliest fault is the one to tell of, and of those the one of the first word, whoever found it first.
    const std::optional<Fault>* first = nullptr;
    for (const auto& fault : faults_)
        if (fault && (!first || fault->cycle < (*first)->cycle)) first = &fault;
    if (first) {
        now_ = (*first)->cycle;
        const Fault fault = **first;
        std::fill(faults_.begin(), faults_.end(), std::nullopt);
        throw fault;
    }
    now_ = until;
}

// Takes its own words, whose state is in the cache of its core, then those that others have not come to yet.
void Cluster::share(unsigned thread) {
    const size_t count = words_.size();
    const size_t first = count * thread / execution_.threads;
    for (size_t n = 0; n < count; ++n) {
        const size_t index = (first + n) % count;
        uint64_t before = taken_[index].load(std::memory_order_relaxed);
        if (before == window_number_ || !taken_[index].compare_exchange_strong(before, window_number_)) continue;
        try {
            words_[index]->advance(now_, until_, parity_, execution_.skip);
        } catch (const Fault& fault) {
            faults_[index] = fault;
        } catch (const std::exception& error) {
            faults_[index] = Fault(error.what(), now_);  // no memory, for one: nothing may leave a thread
        }
    }
}

// While everybody sleeps and nothing is on its way, no window has to be carried out. Leaps are of whole windows: windows
// begin, and runs end, in the same cycles as in lockstep.
void Cluster::leap(uint64_t until, uint64_t length) {
    uint64_t wake = UINT64_MAX;
    for (const auto& word : words_) wake = std::min(wake, word->next_event());
    if (wake <= now_ || settled()) return;
    for (const auto& lane : lanes_)
        if (!lane->empty()) return;
    if (now_ < dump_until_) until = std::min(until, std::max(dump_from_, now_));
    const uint64_t target = now_ + (std::min(wake, until) - now_) / length * length;
    if (target == now_) return;
    for (auto& word : words_) word->advance(now_, target, parity_ ^ 1, true);
    now_ = target;
}

void Cluster::cycle_in_lockstep() {
    try {
        for (auto& word : words_) word->clock(now_, 0);
        for (auto& word : words_) word->collect(0);
        for (auto& word : words_) word->latch(now_, checking_);
    } catch (const Fault& fault) {
        now_ = std::max(now_, fault.cycle);
        throw;
    }
    if (dump_from_ <= now_ && now_ < dump_until_) dump();
    ++now_;
    if (dumping_ && now_ == dump_until_) {
        waves_->close();
        dumping_ = false;
    }
}

void Cluster::dump() {
    if (!dumping_) waves_->open(waves_path_.c_str());
    dumping_ = true;
    for (const uint8_t level : {1, 0}) {
        for (auto& word : words_) word->bank().show_clock(level);
        waves_->dump(2 * now_ + !level);
    }
}

EventLog& Cluster::collect_log() {
    for (auto& station : stations_) {
        log_.insert(log_.end(), station->log.begin(), station->log.end());
        station->log.clear();
    }
    std::stable_sort(log_.begin(), log_.end(), [](const Event& a, const Event& b) { return a.cycle < b.cycle; });
    return log_;
}

EventLog& Cluster::collect_landed() {
    landed_.clear();
    for (Node* node : nodes_) {
        landed_.insert(landed_.end(), node->landed.begin(), node->landed.end());
        node->landed.clear();
    }
    std::stable_sort(landed_.begin(), landed_.end(), [](const Event& a, const Event& b) { return a.cycle < b.cycle; });
    return landed_;
}

void Cluster::log_events(bool on) {
    for (Node* node : nodes_) node->log_events(on);
}

void Cluster::open_waves(const char* path, uint64_t first, uint64_t last) {
    if (!waves_) return;
    for (auto& station : stations_) waves_->add(station->model());
    waves_path_ = path;
    dump_from_ = first;
    dump_until_ = last;
}

uint64_t Cluster::fingerprint() {
    uint64_t hash = 0xCBF29CE484222325;
    for (auto& word : words_) word->catch_up();
    for (auto& station : stations_) hash = (hash ^ station->fingerprint()) * 0x100000001B3;
    return hash;
}

uint64_t Cluster::evaluated() const {
    uint64_t sum = 0;
    for (const auto& word : words_) sum += word->evaluated();
    return sum;
}

size_t Cluster::bytes_a_node() const {
    size_t sum = 0;
    for (const auto& station : stations_) sum += station->model().bytes();
    return sum / nodes_.size();
}

}  // namespace conic
