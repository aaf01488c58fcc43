// How models that advance apart hand things to each other: what is posted in one window of cycles is collected in a later
// one, so that no two threads ever touch the same box.
#pragma once

#include <cstdint>
#include <vector>

namespace conic {

// A queue that keeps its memory.
template <class Item>
class Ring {
public:
    bool empty() const { return head_ == tail_; }
    size_t size() const { return tail_ - head_; }
    Item& front() { return items_[head_ & (items_.size() - 1)]; }
    const Item& front() const { return items_[head_ & (items_.size() - 1)]; }
    void pop_front() { ++head_; }
    void push_back(const Item& item) {
        if (size() == items_.size()) grow();
        items_[tail_++ & (items_.size() - 1)] = item;
    }

private:
    void grow() {
        std::vector<Item> more(items_.empty() ? 16 : 2 * items_.size());
        const size_t count = size();
        for (size_t n = 0; n < count; ++n) more[n] = items_[(head_ + n) & (items_.size() - 1)];
        items_.swap(more);
        head_ = 0;
        tail_ = count;
    }

    std::vector<Item> items_;
    size_t head_ = 0, tail_ = 0;
};

// Which of two boxes is posted to in a window; the other one is collected.
using Parity = unsigned;

template <class Item>
class Mailbox {
public:
    void post(Parity parity, const Item& item) { boxes_[parity].push_back(item); }

    bool empty() const { return boxes_[0].empty() && boxes_[1].empty(); }

    // Moves what has been posted under `parity` to the end of `queue`.
    void collect(Parity parity, Ring<Item>& queue) {
        std::vector<Item>& box = boxes_[parity];
        if (box.empty()) return;
        for (const Item& item : box) queue.push_back(item);
        box.clear();
    }

private:
    std::vector<Item> boxes_[2];
};

}  // namespace conic
