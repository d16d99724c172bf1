// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operation of a user's own: a rule, what it adds to a program, two pullbacks; and a kernel for each of its kinds of
// record in a device's table. Its memory, traffic and layout on every plan come free.
#include <meshpar/meshpar.hpp>
#include <meshpar/ops/kinds.hpp>

#include "extend/same_on_every_plan.hpp"

#include <doctest/doctest.h>

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;

// ---- the operation: y = x^2 g along the last dim of x, which g has; n = {rows, width, add to dg}
struct squared_op {
  static constexpr void input_grad(mp::tracer& t, const mp::record& r);
  static constexpr void weight_grad(mp::tracer& t, const mp::record& r);
  static constexpr mp::operation info{"squared", &input_grad, &weight_grad};
  static constexpr mp::operation input_grad_info{.name = "squared_input_grad"};    // dx from {dy, x, g}
  static constexpr mp::operation weight_grad_info{.name = "squared_weight_grad"};  // dg += from {dy, x}

  // Not linear in x, a product with g.
  static constexpr mp::judged rule(const mp::layout& x, const mp::layout& g, const mp::mesh&) {
    const mp::judged j = mp::typing::nonlinear(x, "squared");
    return j.holds() ? mp::typing::gained("squared", x, g) : j;
  }
  constexpr int emit(mp::tracer& t, int line, const mp::layout& out, int x, int g) const {
    const int y = t.make(out, t.values[x].type);
    const std::int64_t width = t.count(g);
    t.add({.op = &info, .in = mp::values_of(x, g), .out = mp::values_of(y), .n = {t.count(x) / width, width}}, line);
    return y;
  }
};
constexpr void squared_op::input_grad(mp::tracer& t, const mp::record& r) {
  const int dx = t.make(dual(t.shape(r.in[0]), t.plan.ranks), t.values[r.in[0]].type);
  t.add({.op = &input_grad_info,
         .in = mp::values_of(t.grad_of(r.out[0]), t.need(r.in[0]), t.need(r.in[1])),
         .out = mp::values_of(dx),
         .n = {r.n[0], r.n[1]}},
        r.line);
  t.contribute(r.in[0], dx);
}
constexpr void squared_op::weight_grad(mp::tracer& t, const mp::record& r) {
  const int dg = t.grad_target(r.in[1]);
  t.add({.op = &weight_grad_info,
         .in = mp::values_of(t.grad_of(r.out[0]), t.need(r.in[0])),
         .out = mp::values_of(dg),
         .n = {r.n[0], r.n[1], t.adds(dg)}},
        r.line);
  t.deliver(r.in[1], dg);
}
template <class X, class G>
constexpr auto squared(X x, G g, int line = __builtin_LINE()) {
  static_assert(decltype(mp::judge<squared_op>(x, g))::ok);
  return mp::apply(squared_op{}, line, x, g);
}

// ---- its kernels on the host
template <class D>
void run_squared(D&, const mp::bound& c) {
  using T = typename D::element;
  for (std::int64_t i = 0; i < c.n(0) * c.n(1); ++i)
    c.output<T>(0)[i] = c.input<T>(0)[i] * c.input<T>(0)[i] * c.input<T>(1)[i % c.n(1)];
}
template <class D>
void run_input_grad(D&, const mp::bound& c) {
  using T = typename D::element;
  for (std::int64_t i = 0; i < c.n(0) * c.n(1); ++i)
    c.output<T>(0)[i] = 2 * c.input<T>(0)[i] * c.input<T>(1)[i] * c.input<T>(2)[i % c.n(1)];
}
template <class D>
void run_weight_grad(D&, const mp::bound& c) {
  using T = typename D::element;
  mp::accumulator_t<T>* dg = c.output<mp::accumulator_t<T>>(0);
  for (std::int64_t k = 0; k < c.n(1); ++k) {
    if (c.n(2) == 0) dg[k] = 0;
    for (std::int64_t i = k; i < c.n(0) * c.n(1); i += c.n(1))
      dg[k] += c.input<T>(0)[i] * c.input<T>(1)[i] * c.input<T>(1)[i];
  }
}
template <class D>
inline constexpr auto kinds_with_squared =
    mp::extended<D>(mp::host_kinds::table<D>, mp::runner<D>{&squared_op::info, &run_squared<D>},
                    mp::runner<D>{&squared_op::input_grad_info, &run_input_grad<D>},
                    mp::runner<D>{&squared_op::weight_grad_info, &run_weight_grad<D>});

// ---- a layer with it
struct squared_mlp {
  mp::param<dims::hidden, dims::ffn> up{"up"};
  mp::param<dims::ffn> gain{"gain", mp::initial::ones};
  mp::param<dims::ffn, dims::hidden> down{"down", mp::initial::residual};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto y = squared(mp::contract(dims::hidden, h, r[up]), r[gain]);
    return mp::to_layout_of(x, mp::contract(dims::ffn, y, r[down]));
  }
};
static_assert(mp::check_layer<squared_mlp>());

namespace {
constexpr mp::model tiny = mp::gpt2_like({.layers = 2, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8});
constexpr mp::job batch4{.global_batch = 4};
using layers = mp::stack<mp::attention_layer, squared_mlp>;
using device = same_on_every_plan::rank::device;
}  // namespace

TEST_CASE("a decoder with a user's operation trains alike on every plan") {
  same_on_every_plan::check<layers>(tiny, batch4, kinds_with_squared<device>);
}

TEST_CASE("its gradients are the slopes of the loss") {
  const auto loss = [](double change) {
    double total = 0;
    const mp::plan one{.precision = mp::all_f64};
    const mp::program p(tiny, batch4, one, layers(tiny, batch4));
    mp::threads_world world(1);
    world.run([&](mp::threads& comm) {
      same_on_every_plan::rank r(p, comm, kinds_with_squared<device>);
      r.set_parameters([&](const mp::parameter_entry& e, const std::string& name, std::int64_t index) {
        const double start = 3 * mp::initial_value(p, p.declared(e), mp::kernels::name_hash(name.c_str()), index);
        return start +
               (name == "layers.0.mlp.gain" || name == "layers.0.mlp.up" ? (index % 2 != 0 ? -1 : 1) * change : 0);
      });
      r.accumulate(
          0, [](auto s, auto q) { return static_cast<int>((s + 3 * q) % 24); },
          [](auto s, auto q) { return static_cast<int>((s * q + 5) % 24); });
      if (change != 0) {
        total = r.loss_sum() / 32;
        return;
      }
      mp::for_each_parameter(p, 0,
                             [&](const mp::parameter_entry&, std::int64_t flat, const std::string& name,
                                 std::int64_t index, std::int64_t) {
                               if (name == "layers.0.mlp.gain" || name == "layers.0.mlp.up")
                                 total += (index % 2 != 0 ? -1 : 1) * r.gradients()[flat];
                             });
    });
    return total;
  };
  const double step = 1e-4, slope = (loss(step) - loss(-step)) / (2 * step);
  CHECK(std::abs(slope) > 1e-4);
  CHECK(loss(0) == doctest::Approx(slope).epsilon(1e-5));
}

TEST_CASE("without its kernels the program is refused by name") {
  CHECK_THROWS_WITH_AS(
      same_on_every_plan::run<layers>(tiny, batch4, {.precision = mp::all_f64}, mp::host_kinds::table<device>),
      doctest::Contains("no kernel for the operation squared"), mp::comm_error);
}

TEST_CASE("its cost comes free: x is saved, and so is what the product after it takes") {
  const mp::program p(tiny, batch4, {.tp = 2, .precision = mp::all_f64}, layers(tiny, batch4));
  const mp::program plain(tiny, batch4, {.tp = 2, .precision = mp::all_f64}, mp::stack<>(tiny, batch4));
  const std::int64_t tokens = tiny.seq, bytes = 8;
  const std::int64_t kept = mp::kept(p.traced_block(mp::block_kind::mlp));
  CHECK(kept == mp::kept(plain.traced_block(mp::block_kind::mlp)));
  CHECK(kept == bytes * tokens * (2 * tiny.hidden + 2 * tiny.ffn / 2 + 2));  // input and normed; x, y; mean, deviation
}
