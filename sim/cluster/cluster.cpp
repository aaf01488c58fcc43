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
                 const LinkTiming& links, uint64_t seed, const Execution& execution, bool random_start, Pack* pack)
    : memory_timing_(memory), link_timing_(links), execution_(execution), waves_(make_waves()), random_start_(random_start), pack_(pack) {
    if (pack_)
        add_nodes_beside(nodes, seed, memory_bytes);
    else
        add_words(nodes, kNicLanes, false, seed, memory_bytes);
    add_words(switches, kSwitchLanes, true, seed, 0);
    if (!execution_.skip)
        for (auto& word : words_) word->bank().leave_nothing_out();
    count_words();
    // Models of one waveform share a context, which wants one thread.
    const size_t most = waves_ ? 1 : words_.size();
    execution_.threads = std::clamp<unsigned>(execution_.threads, 1, static_cast<unsigned>(most));
    if (pack_) execution_.threads = 1;
    workers_ = std::make_unique<Workers>(execution_.threads, [this](unsigned thread) { share(thread); });
}

std::vector<Born> Cluster::born(uint32_t first, uint32_t last, bool is_switch, uint64_t seed) const {
    std::vector<Born> born;
    for (uint32_t n = first; n < last; ++n)
        born.push_back({(is_switch ? "switch" : "nic") + std::to_string(n),
                        random_start_ ? seed * 2 + (is_switch ? n * 104729 + 2 : n * 7919 + 1) : 0});
    return born;
}

// Words of NICs, or of switches, with so many of them in each.
void Cluster::add_words(uint32_t count, unsigned lanes, bool is_switch, uint64_t seed, uint64_t memory_bytes) {
    void* context = waves_ ? waves_->context() : nullptr;
    for (uint32_t first = 0; first < count; first += lanes) {
        const uint32_t last = std::min(count, first + lanes);
        const std::vector<Born> of_word = born(first, last, is_switch, seed);
        Word& word = *words_.emplace_back(
            std::make_unique<Word>(is_switch ? make_switches(of_word, context) : make_nics(of_word, context)));
        for (uint32_t n = first; n < last; ++n) {
            Model& model = word.bank().model(n - first);
            if (is_switch)
                stations_.push_back(std::make_unique<Station>(of_word[n - first].name, n, model));
            else
                add_node(n, model, memory_bytes, seed);
            word.add(*stations_.back());
        }
    }
}

void Cluster::add_node(uint32_t number, Model& model, uint64_t memory_bytes, uint64_t seed) {
    auto node = std::make_unique<Node>(number, model, memory_bytes, memory_timing_, seed * 1000003 + number);
    nodes_.push_back(node.get());
    stations_.push_back(std::move(node));
}

// NICs in lanes of a word that other clusters have others of.
void Cluster::add_nodes_beside(uint32_t count, uint64_t seed, uint64_t memory_bytes) {
    if (count != pack_->nodes())
        throw Fault("a cluster side by side with others must have " + std::to_string(pack_->nodes()) + " nodes, not " +
                    std::to_string(count));
    if (execution_.lockstep || waves_) throw Fault("clusters side by side go ahead in windows, and write no waveform");
    place_ = pack_->join();
    born_beside_ = born(0, count, false, seed);
    for (uint32_t n = 0; n < count; ++n) add_node(n, pack_->model(place_, n), memory_bytes, seed);
}

Cluster::~Cluster() {
    if (pack_) pack_->leave(place_);
    if (dumping_) waves_->close();  // while the models are still there
}

// What there is one of for each word.
void Cluster::count_words() {
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
    if (pack_) {
        std::vector<Station*> nics(nodes_.begin(), nodes_.end());
        pack_->reset(place_, nics, born_beside_);
    }
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
    carry_out([this] { return settled(); }, end);
    for (const auto& station : stations_) settled_at_ = std::max(settled_at_, station->settled_at());
    return settled();
}

bool Cluster::await_registers(const Station& station, uint64_t most) {
    const uint64_t end = now_ + most;
    for (auto& each : stations_) each->wake();
    carry_out([&] { return station.registers.idle(); }, end, kLongestWindow);
    return station.registers.idle();
}

void Cluster::step(uint64_t cycles) {
    const uint64_t end = now_ + cycles;
    for (auto& station : stations_) station->wake();
    carry_out([] { return false; }, end);
}

// Window after window, until `done` or the end; with leaps of at most so many cycles.
void Cluster::carry_out(std::function<bool()> done, uint64_t end, uint64_t most) {
    if (pack_) return pack_->carry_out(place_, *this, {std::move(done), end});
    while (!done() && now_ < end) window(std::min(end - now_, most));
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
    window_apart(length);
    leap(now_ + cycles - length, longest);
}

bool Cluster::in_lockstep(uint64_t length) const {
    const bool dumps = now_ < dump_until_ && now_ + length > dump_from_;
    return execution_.lockstep || checking_ || dumps || link_timing_.latency == 0;
}

uint64_t Cluster::begin_window(uint64_t cycles) {
    const uint64_t length = std::min(std::clamp<uint64_t>(link_timing_.latency, 1, kLongestWindow), cycles);
    until_ = now_ + length;
    window_number_.fetch_add(1);
    parity_ ^= 1;
    for (Node* node : nodes_) node->begin_window(now_, parity_);
    share(0);
    return length;
}

// The earliest fault is the one to tell of, and of those the one of the first station, whoever found it first.
void Cluster::end_window() {
    const Fault* first = nullptr;
    for (const auto& station : stations_)
        if (station->fault() && (!first || station->fault()->cycle < first->cycle)) first = &*station->fault();
    now_ = first ? first->cycle : until_;
    if (first) throw Fault(*first);
}

void Cluster::window_apart(uint64_t length) {
    until_ = now_ + length;
    parity_ ^= 1;
    n_done_ = 0;
    window_number_.fetch_add(1);
    const uint64_t before = evaluated_;
    if (work_ >= kLeastShared && execution_.threads > 1) workers_->call();
    share(0);
    Workers::wait_until([this] { return n_done_.load() == words_.size(); }, n_done_);
    evaluated_ = evaluated();
    work_ = evaluated_ - before;
    end_window();
}

// Takes its own words, whose state is in the cache of its core, then those that others have not come to yet. Who has taken
// a word holds up the end of the window; who comes when all are taken finds a number that it cannot change.
void Cluster::share(unsigned thread) {
    const size_t count = words_.size();
    const size_t first = count * thread / execution_.threads;
    for (size_t n = 0; n < count; ++n) {
        const size_t index = (first + n) % count;
        const uint64_t number = window_number_.load();
        uint64_t before = number - 1;
        if (!taken_[index].compare_exchange_strong(before, number)) continue;
        Word& word = *words_[index];
        for (Station* station : word.stations()) station->begin_window(now_, parity_);
        word.advance(until_ - now_, execution_.skip);
        if (n_done_.fetch_add(1) + 1 == count) n_done_.notify_all();
    }
}

// While everybody sleeps and nothing is on its way, no window has to be carried out. Leaps are of whole windows: windows
// begin, and runs end, in the same cycles as in lockstep.
void Cluster::leap(uint64_t until, uint64_t length) {
    uint64_t wait = UINT64_MAX;
    for (const auto& word : words_) wait = std::min(wait, word->until_next_event());
    if (!wait || settled()) return;
    const uint64_t wake = wait == UINT64_MAX ? wait : now_ + wait;
    for (const auto& lane : lanes_)
        if (!lane->empty()) return;
    if (now_ < dump_until_) until = std::min(until, std::max(dump_from_, now_));
    const uint64_t target = now_ + (std::min(wake, until) - now_) / length * length;
    if (target == now_) return;
    for (auto& word : words_) word->advance(target - now_, true);
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
    for (const auto& station : stations_)
        if (station->fault()) throw Fault(*station->fault());
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
    for (auto& station : stations_) waves_->add(station->model(), station->name());
    waves_path_ = path;
    dump_from_ = first;
    dump_until_ = last;
}

uint64_t Cluster::fingerprint() {
    uint64_t hash = 0xCBF29CE484222325;
    catch_up();
    for (auto& station : stations_) hash = (hash ^ station->fingerprint()) * 0x100000001B3;
    return hash;
}

uint64_t Cluster::evaluated() const {
    uint64_t sum = 0;
    for (const auto& station : stations_) sum += station->evaluated;
    return sum;
}

void Cluster::catch_up() {
    if (pack_) pack_->catch_up();
    for (auto& word : words_) word->catch_up();
}

size_t Cluster::bytes_a_node() const {
    size_t sum = 0;
    for (const auto& station : stations_) sum += station->model().bytes();
    return sum / nodes_.size();
}

}  // namespace conic
