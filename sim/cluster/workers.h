// Threads that carry out one window of cycles after the other, each time on all stations.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace conic {

class Workers {
public:
    // Threads beside the caller's; `share(thread)` is the part of a window that each carries out.
    Workers(unsigned n_threads, std::function<void(unsigned)> share) : share_(std::move(share)) {
        for (unsigned thread = 1; thread < n_threads; ++thread) threads_.emplace_back([this, thread] { work(thread); });
    }
    ~Workers() {
        stop_ = true;
        begin_.fetch_add(1);
        begin_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    // Carries out a window: everybody's share, the caller's among them.
    void run() {
        left_.store(static_cast<unsigned>(threads_.size()));
        begin_.fetch_add(1);
        begin_.notify_all();
        share_(0);
        wait_until([this] { return left_.load() == 0; }, left_);
    }

private:
    // Looks for a while, for windows are short; then sleeps, for others may want the core.
    template <class Done, class Word>
    static void wait_until(Done done, Word& word) {
        for (;;) {
            for (unsigned look = 0; look < kLooks; ++look) {
                if (done()) return;
#if defined(__x86_64__)
                __builtin_ia32_pause();
#endif
            }
            const auto value = word.load();
            if (done()) return;
            word.wait(value);
        }
    }

    void work(unsigned thread) {
        for (uint64_t seen = 0;; ++seen) {
            wait_until([&] { return begin_.load() != seen; }, begin_);
            if (stop_) return;
            share_(thread);
            if (left_.fetch_sub(1) == 1) left_.notify_all();
        }
    }

    static constexpr unsigned kLooks = 4000;

    std::function<void(unsigned)> share_;
    std::vector<std::thread> threads_;
    std::atomic<uint64_t> begin_{0};
    std::atomic<unsigned> left_{0};
    std::atomic<bool> stop_{false};
};

}  // namespace conic
