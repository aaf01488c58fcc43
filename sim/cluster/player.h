// A node that is only played: at the end of a cable it sends whatever packets it is given, within the credits of the link,
// and takes whatever comes. It has neither registers nor memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "mailbox.h"
#include "model.h"
#include "station.h"

namespace conic {

class PlayedModel : public Model, public Bank {
public:
    PlayedModel(unsigned bytes, unsigned credits) : credits_{credits, credits} {
        flit_bytes = bytes;
        links.push_back({
            &tx_valid_, &tx_last_, &tx_vc_, tx_data_, &rx_ready_, &rx_credit_valid_, &rx_credit_vc_,
            &in_.tx_ready, &in_.tx_credit_valid, &in_.tx_credit_vc, &in_.rx_valid, &in_.rx_last, &in_.rx_vc, rx_data_, false,
        });
        registers = {
            &zero_, &zero_, &zero_, &zero_, &zero_, &zero_, &zero_, &zeros_, &unused_, &unused_, &unused_, &unused_,
            &unused_, &unused_, &unused_, &unused_, Pin::of(unused_), Pin::of(unused_), &unused_word_,
        };
        reset = &unused_;
    }

    // A flit to be sent after all others.
    void push(const Flit& flit) { waiting_.push_back(flit); }
    bool idle() const { return waiting_.empty(); }
    uint64_t received() const { return received_; }

    void latch() override { taken_ = in_; }
    void clock() override {
        if (tx_valid_ && taken_.tx_ready) {
            waiting_.pop_front();
            tx_valid_ = 0;
        }
        if (taken_.tx_credit_valid) ++credits_[taken_.tx_credit_vc & 1];
        rx_credit_valid_ = taken_.rx_valid;
        rx_credit_vc_ = taken_.rx_vc;
        received_ += taken_.rx_valid && taken_.rx_last;
        if (!tx_valid_ && !waiting_.empty() && credits_[waiting_.front().vc & 1]) {
            const Flit& flit = waiting_.front();
            --credits_[flit.vc & 1];
            tx_valid_ = 1;
            tx_last_ = flit.last;
            tx_vc_ = flit.vc;
            std::memcpy(tx_data_, flit.data, flit_bytes);
        }
    }
    void step(uint64_t) override {
        clock();
        latch();
    }
    unsigned size() const override { return 1; }
    Model& model(unsigned) override { return *this; }
    const char* failed() const override { return nullptr; }
    bool still() const override {
        return waiting_.empty() && !rx_credit_valid_ && !in_.rx_valid && !in_.tx_credit_valid && !taken_.rx_valid &&
               !taken_.tx_credit_valid;
    }
    uint64_t fingerprint() override { return waiting_.size() * 0x9E3779B97F4A7C15 ^ received_; }
    size_t bytes() const override { return sizeof(*this); }

private:
    struct Inputs {
        uint8_t tx_ready = 1, tx_credit_valid = 0, tx_credit_vc = 0, rx_valid = 0, rx_last = 0, rx_vc = 0;
    };

    Inputs in_, taken_;
    uint64_t credits_[2];
    Ring<Flit> waiting_;
    uint64_t received_ = 0;
    uint8_t tx_valid_ = 0, tx_last_ = 0, tx_vc_ = 0, tx_data_[kMostFlitBytes] = {}, rx_data_[kMostFlitBytes] = {};
    uint8_t rx_ready_ = 1, rx_credit_valid_ = 0, rx_credit_vc_ = 0;
    uint8_t zero_ = 0, unused_ = 0;
    uint32_t zeros_ = 0, unused_word_ = 0;
};

class Player : public Station {
public:
    Player(uint32_t number, PlayedModel& model)
        : Station("player" + std::to_string(number), number, model), played_(model) {}

    // Queues a packet of so many flits.
    void send(uint8_t vc, const uint8_t* data, unsigned n_flits) {
        for (unsigned n = 0; n < n_flits; ++n) {
            Flit flit{0, n + 1 == n_flits, vc, {}};
            std::memcpy(flit.data, data + n * played_.flit_bytes, played_.flit_bytes);
            played_.push(flit);
        }
        wake();
    }
    uint64_t received() const { return played_.received(); }
    bool settled() const override { return played_.idle(); }

private:
    PlayedModel& played_;
};

}  // namespace conic
