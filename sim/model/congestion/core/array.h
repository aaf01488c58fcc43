// An array that Python made. With CONIC_CHECKED every place is checked, for tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace conic::congestion {

template <class Item>
struct Array {
    Item* items;
    int64_t size;

    Item& operator[](int64_t place) const {
#ifdef CONIC_CHECKED
        if (place < 0 || place >= size) {
            std::fprintf(stderr, "place %lld of %lld\n", static_cast<long long>(place), static_cast<long long>(size));
            std::abort();
        }
#endif
        return items[place];
    }
};

}  // namespace conic::congestion
