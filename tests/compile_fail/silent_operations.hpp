// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/nn/check_layer.hpp>
#include <meshpar/ops/contract.hpp>
#include <meshpar/ops/cross_entropy.hpp>
#include <meshpar/typing/typing.hpp>

// Operations that users write themselves, as far as types see them: the library's rules under names of their own.
namespace own {

namespace mp = meshpar;

// A trace gets their results, without records.
struct shown_to_types {
  constexpr int emit(mp::tracer& t, int, const mp::layout& out, int x, auto...) const {
    return t.make(out, t.values[x].type);
  }
};
// x * y, element by element: a mask, a gate
struct product_op : shown_to_types {
  static constexpr mp::operation info{.name = "product"};
  static constexpr mp::judged rule(const mp::layout& x, const mp::layout& y, const mp::mesh&) {
    return mp::typing::product(x, y);
  }
};
// x over one number: a count of tokens
struct quotient_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::layout& n, const mp::mesh&) {
    return mp::typing::quotient(x, n);
  }
};
// an all-reduce, by whoever still thinks in collectives
template <class Axis>
struct all_reduce_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) {
    return mp::typing::reduce_gradient(x, mp::whole_axis(Axis::value));
  }
};
// the sum over a dim; the mean is the same, divided by the dim's global size
template <class Dim>
struct sum_over_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) {
    return mp::typing::sum_over(x, {{Dim::name}, 1});
  }
};
// a normalisation along a dim
template <class Dim>
struct softmax_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) { return mp::typing::softmax(x, Dim::name); }
};
// all but the first element of a dim: labels from ids
template <class Dim>
struct shift_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) {
    return mp::typing::slice(x, Dim::name, 1, x.dims[x.find(Dim::name)].local - 1);
  }
};
// the largest element of the last dim
struct largest_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) { return mp::typing::row_max(x); }
};
// any function of each element: a root, a logarithm
struct root_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& x, const mp::mesh&) { return mp::typing::nonlinear(x, "root"); }
};
// the loss of each token
struct token_loss_op : shown_to_types {
  static constexpr mp::judged rule(const mp::layout& logits, const mp::layout& labels, const mp::mesh&) {
    return mp::typing::cross_entropy(logits, labels);
  }
};

constexpr auto product(auto x, auto y) {
  static_assert(decltype(mp::judge<product_op>(x, y))::ok);
  return mp::apply(product_op{}, 0, x, y);
}
constexpr auto quotient(auto x, auto n) {
  static_assert(decltype(mp::judge<quotient_op>(x, n))::ok);
  return mp::apply(quotient_op{}, 0, x, n);
}
template <class Axis>
constexpr auto all_reduce(auto x, Axis) {
  static_assert(decltype(mp::judge<all_reduce_op<Axis>>(x))::ok);
  return mp::apply(all_reduce_op<Axis>{}, 0, x);
}
template <class Dim>
constexpr auto sum_over(auto x, Dim) {
  static_assert(decltype(mp::judge<sum_over_op<Dim>>(x))::ok);
  return mp::apply(sum_over_op<Dim>{}, 0, x);
}
template <class Dim>
constexpr auto softmax(auto x, Dim) {
  static_assert(decltype(mp::judge<softmax_op<Dim>>(x))::ok);
  return mp::apply(softmax_op<Dim>{}, 0, x);
}
template <class Dim>
constexpr auto shift(auto x, Dim) {
  static_assert(decltype(mp::judge<shift_op<Dim>>(x))::ok);
  return mp::apply(shift_op<Dim>{}, 0, x);
}
constexpr auto largest(auto x) {
  static_assert(decltype(mp::judge<largest_op>(x))::ok);
  return mp::apply(largest_op{}, 0, x);
}
constexpr auto root(auto x) {
  static_assert(decltype(mp::judge<root_op>(x))::ok);
  return mp::apply(root_op{}, 0, x);
}
constexpr auto token_loss(auto logits, auto labels) {
  static_assert(decltype(mp::judge<token_loss_op>(logits, labels))::ok);
  return mp::apply(token_loss_op{}, 0, logits, labels);
}

// The labels that a head's loss takes.
template <int Plan>
constexpr auto labels(mp::scope<Plan>) {
  return mp::tensor<mp::enter_layout<mp::plan_numbered<Plan>.tokens, Plan>::number>{};
}

// A head: residual stream -> the loss. Backward begins there, so it must be a loss that can be seeded.
template <const mp::context& Plan, class Loss>
struct seeded {
  static constexpr mp::verdict result = mp::typing::seed(Loss::shape(), Plan.ranks).no;
};
template <const mp::context& Plan>
struct seeded<Plan, mp::refused> {
  static constexpr mp::verdict result{};  // has been refused already
};
template <class Head, const mp::context& Plan>
struct head_check {
  using loss = decltype(std::declval<const Head&>().forward(mp::scope_of<Plan>{}, mp::tensor_of<Plan.stream, Plan>{}));
  static_assert(mp::require<seeded<Plan, loss>>::ok);
  static constexpr bool ok = true;
};

}  // namespace own
