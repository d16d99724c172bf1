// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each rule of programs refuses its program, and what comes nearest to it is legal.
#include "rules/programs.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace rules_test::programs;

struct long_enough {
  constexpr auto forward(const auto&, auto x) const {
    auto y = x;
    for (int i = 0; i < 20; ++i) y = relu(y);
    return y;
  }
};
template <auto First, auto Second>
struct one_parameter {
  param<First, Second> weight{"weight"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto w = r[weight];
    static_cast<void>(w);
    return x;
  }
};
struct in_one_state {
  param<dims::hidden, dims::head_dim> narrow{"narrow"};
  param<dims::head_dim, dims::hidden> widen{"widen"};
  constexpr auto forward(const auto& r, auto x) const {
    const auto a = contract(dims::hidden, x, r(narrow, x));
    return contract(dims::head_dim, sum(a, a), r(widen, a));
  }
};
struct head_with_the_same_dims {
  param<dims::vocab, dims::hidden> table{"embedding"};
  constexpr auto forward(const auto& r, auto x, auto labels) const {
    return cross_entropy(contract(dims::hidden, to<R>(x, axes::tp), r[table]), labels, 0);
  }
};
struct tied_alike : stack<> {
  using stack<>::stack;
  constexpr void trace(tracer& t, block_kind kind) const {
    if (kind == block_kind::last) trace_last(t, head_with_the_same_dims{});
    else stack<>::trace(t, kind);
  }
};

}  // namespace

TEST_CASE("each refusal is of its rule") {
  std::vector<rule> broken;
  for (const verdict& v : rules_test::refused_programs()) broken.push_back(v.broken);
  CHECK(broken == std::vector<rule>{rule::block_fits_the_trace, rule::parameter_named_twice,
                                    rule::parameter_in_two_states, rule::tied_parameters_placed_alike,
                                    rule::memory_fits, rule::device_has_no_kernel});
}

TEST_CASE("a parameter's dims go together") {
  const auto broken = [](const verdict& v) { return v.broken; };
  CHECK(broken(refusal_of<with<one_parameter<dims::hidden, dims::hidden>>>()) == rule::dimension_appears_twice);
  CHECK(broken(refusal_of<with<one_parameter<dims::ffn, dims::heads>>>()) != rule::none);
  CHECK(refusal_of<with<one_parameter<dims::hidden, dims::ffn>>>().holds());
}

TEST_CASE("what comes nearest is legal") {
  CHECK(refusal_of<with<long_enough>>().holds());
  CHECK(refusal_of<stack<>>().holds());
  CHECK(refusal_of<with<in_one_state>>().holds());
  CHECK(refusal_of<tied_alike>().holds());
  CHECK(memory_fits(135'000'000'000, h200).holds());
  CHECK(kernel_check<device, nullptr>::result.holds());
}
