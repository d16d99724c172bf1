// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Not built. Each case is as it should be, and fails today.
#include "silent_bugs/one_step.hpp"

#include <doctest/doctest.h>

using namespace silent_bugs;
namespace axes = mp::axes;
namespace dims = mp::dims;

namespace {

constexpr mp::model llama =
    mp::llama_like({.layers = 1, .hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 8, .vocab = 4, .seq = 4});
constexpr mp::job four_samples{.global_batch = 4};
constexpr mp::plan dp2{.dp = 2, .precision = mp::all_f64};
constexpr mp::plan tp2_sp{.tp = 2, .sequence_parallel = true};

template <class Each>
void on_dp2(Each each) {
  const mp::program p(llama, four_samples, dp2, mp::stack<>(llama, four_samples));
  mp::threads_world world(2, {.time_out = 60});
  world.run([&](mp::threads& comm) {
    rank r(p, comm);
    each(r);
  });
}
constexpr auto ids = [](auto sample, auto position) { return static_cast<std::int32_t>((sample + position) % 4); };

// Labels: all 8 on the samples of the first rank.
constexpr auto labels = [](auto sample, auto) { return sample % 2 == 0 ? 1 : -1; };

}  // namespace

TEST_CASE("a divisor that each rank has counted for itself is refused") {
  CHECK_THROWS(on_dp2([](rank& r) {
    r.accumulate(0, r.number() == 0 ? 8 : 4, ids, labels);
    r.update(8, {});
  }));
}

TEST_CASE("the divisor of the gradient is that of the reported loss") {
  CHECK_THROWS(on_dp2([](rank& r) {
    r.accumulate(0, 8, ids, labels);
    r.update(1, {});
  }));
}

TEST_CASE("an update needs gradients that no update has taken: the second would sum the sums") {
  CHECK_THROWS(on_dp2([](rank& r) {
    r.accumulate(0, 8, ids, labels);
    r.update(8, {});
    r.update(8, {});
  }));
}

namespace {
struct two_losses {
  mp::head_layer head;
  mp::param<dims::hidden, dims::positions> second{"second"};
  constexpr auto forward(const auto& r, auto x, auto all) const {
    const auto logits = mp::contract(dims::hidden, x, r(second, x));
    const auto own_labels = mp::split(all, dims::seq, axes::tp);
    const auto aside = mp::to<mp::I>(mp::cross_entropy(logits, own_labels, 4, 0), axes::tp);
    return mp::sum(head.forward(r, x, all), aside);
  }
};
struct moved_loss {
  mp::head_layer head;
  constexpr auto forward(const auto& r, auto x, auto all) const {
    return mp::to<mp::I>(head.forward(r, x, all), axes::dp);
  }
};
struct padded_loss {  // the stored vocabulary instead of the logical one
  mp::param<dims::hidden, dims::vocab> head{"head"};
  constexpr auto forward(const auto& r, auto x, auto all) const {
    const auto logits = mp::contract(dims::hidden, mp::to<mp::R>(x, axes::tp), r[head]);
    return mp::cross_entropy(logits, all, 8, 0);
  }
};
template <class Head>
struct with_head {
  mp::stack<> body;
  Head last;
  static constexpr mp::own_dims own{};
  constexpr with_head(const mp::model& m, const mp::job& j) : body(m, j), last(make(m, j)) {}
  static constexpr Head make(const mp::model& m, const mp::job& j) {
    if constexpr (std::is_same_v<Head, padded_loss>) return {};
    else return {mp::head_layer(m, j.label_smoothing)};
  }
  constexpr void trace(mp::tracer& t, mp::block_kind kind) const {
    if (kind == mp::block_kind::last) return mp::trace_last(t, last);
    body.trace(t, kind);
  }
};
template <class Head>
double loss_of(const mp::plan& how, const mp::model& m = llama) {
  return run_step<with_head<Head>>(m, four_samples, how, {.label_count = 16}).loss;
}
}  // namespace

TEST_CASE("the reported loss of two losses is their sum on every plan, over all micro-batches") {
  CHECK(loss_of<two_losses>(tp2_sp) == doctest::Approx(loss_of<two_losses>({})).epsilon(1e-12));
}

TEST_CASE("the reported loss of a head that moves its loss is the same on every plan") {
  CHECK(loss_of<moved_loss>({.dp = 2}) == doctest::Approx(loss_of<moved_loss>({})).epsilon(1e-12));
}

TEST_CASE("a loss over the stored vocabulary is refused, or is the same as over the logical one") {
  mp::model m = llama;
  m.vocab = 7;
  CHECK(loss_of<padded_loss>({.tp = 4}, m) == doctest::Approx(loss_of<padded_loss>({}, m)).epsilon(1e-12));
}
