// Threads that help with one window of cycles after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace conic {

class Workers {
public:
    // Threads beside the caller's; `help(thread)` does what there is to do, if anything is left.
    Workers(unsigned n_threads, std::function<void(unsigned)> help) : help_(std::move(help)) {
        for (unsigned thread = 1; thread < n_threads; ++thread) threads_.emplace_back([this, thread] { work(thread); });
    }
    ~Workers() {
        stop_ = true;
        call();
        for (std::thread& thread : threads_) thread.join();
    }

    // Says that there is something to do. Who comes too late, because others have its core, finds nothing left: nobody
    // waits for it.
    void call() {
        calls_.fetch_add(1);
        calls_.notify_all();
    }

    // Looks for a while whether `done`, for windows are short; then sleeps until `word` changes, for others may want the
    // core.
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

private:
    void work(unsigned thread) {
        for (uint64_t seen = 0;;) {
            wait_until([&] { return calls_.load() != seen; }, calls_);
            seen = calls_.load();
            if (stop_) return;
            help_(thread);
        }
    }

    static constexpr unsigned kLooks = 4000;

    std::function<void(unsigned)> help_;
    std::vector<std::thread> threads_;
    std::atomic<uint64_t> calls_{0};
    std::atomic<bool> stop_{false};
};

}  // namespace conic
