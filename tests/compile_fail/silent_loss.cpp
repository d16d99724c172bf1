// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Public reports of programs that trained wrong in silence, by the ids of docs/silent_bugs.md: what their users wrote,
// in our terms, and beside it what is right. Here: losses, counts, norms and scale factors.
#include <meshpar/ops/sum.hpp>

#include "silent_operations.hpp"

namespace mp = meshpar;
namespace axes = mp::axes;
namespace dims = mp::dims;
using mp::I;
using mp::R;
using mp::layer_checks::with_sp;
using mp::layer_checks::without_sp;

struct heads {
  mp::param<dims::hidden, dims::vocab> head{"head"};
  mp::param<dims::hidden, dims::head_dim> narrow{"narrow"};  // logits of a second, small loss
  constexpr auto logits(const auto& r, auto x) const {
    return mp::contract(dims::hidden, mp::to<R>(x, axes::tp), r[head]);
  }
};

// ---- S18: a loss over a split vocabulary, given logits that were gathered first: every rank of tp would seed it
struct s18_gathered_logits : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    return mp::cross_entropy(mp::to<R>(logits(r, x), axes::tp), labels, 0);
  }
};
struct s18_split_logits : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    return mp::cross_entropy(logits(r, x), labels, 0);
  }
};
// told: 4, 1, 'R', along::tp, fix::to_I
static_assert(own::head_check<s18_gathered_logits, with_sp<>>::ok);  // expect: loss_partial_or_invariant
static_assert(own::head_check<s18_split_logits, with_sp<>>::ok);
static_assert(own::head_check<s18_split_logits, without_sp<>>::ok);

// ---- S19: label smoothing by the mean over the part of the vocabulary that a rank holds
struct s19_mean_of_the_own_part : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto z = logits(r, x);
    const auto mean = own::sum_over(z, dims::vocab);
    // told: &sum_op::info, 'I', 'P', along::tp, fix::to_R_left
    const auto y = mp::sum(own::token_loss(z, labels), mean);  // expect: invariant_mixed
    return own::sum_over(own::sum_over(y, dims::seq), dims::batch);
  }
};
struct s19_mean_of_the_whole : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto z = logits(r, x);
    const auto mean = mp::to<I>(own::sum_over(z, dims::vocab), axes::tp);
    const auto y = mp::sum(own::token_loss(z, labels), mean);
    return own::sum_over(own::sum_over(y, dims::seq), dims::batch);
  }
};
static_assert(own::head_check<s19_mean_of_the_own_part, without_sp<>>::ok);
static_assert(own::head_check<s19_mean_of_the_whole, without_sp<>>::ok);
static_assert(own::head_check<s19_mean_of_the_whole, with_sp<>>::ok);

// ---- S24: the loss summed over the ranks, then differentiated on each of them
struct s24_differentiated_after_the_sum : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    return mp::to<R>(mp::cross_entropy(logits(r, x), labels, 0), axes::dp);
  }
};
struct s24_one_computation : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    return mp::to<I>(mp::cross_entropy(logits(r, x), labels, 0), axes::dp);
  }
};
using s24 = s24_differentiated_after_the_sum;
// told: 2, 1, 'R', along::dp, fix::to_I
static_assert(own::head_check<s24, with_sp<>>::ok);  // expect: loss_partial_or_invariant
static_assert(own::head_check<s24_one_computation, with_sp<>>::ok);

// ---- S30: a second loss, on the tokens of each rank, added to a loss that all ranks of tp share
struct s30_own_scale : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto own_labels = mp::split(labels, dims::seq, axes::tp);
    const auto own_logits = mp::contract(dims::hidden, x, r[narrow]);
    const auto second = mp::cross_entropy(own_logits, own_labels, 0);
    const auto first = mp::cross_entropy(logits(r, x), labels, 0);
    // told: &sum_op::info, 'I', 'P', along::tp, fix::to_R_left
    return mp::sum(first, second);  // expect: invariant_mixed
  }
};
struct s30_one_sum : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto own_labels = mp::split(labels, dims::seq, axes::tp);
    const auto own_logits = mp::contract(dims::hidden, x, r[narrow]);
    const auto second = mp::cross_entropy(own_logits, own_labels, 0);
    const auto first = mp::cross_entropy(logits(r, x), labels, 0);
    return mp::sum(first, mp::to<I>(second, axes::tp));
  }
};
static_assert(own::head_check<s30_own_scale, with_sp<>>::ok);
static_assert(own::head_check<s30_one_sum, with_sp<>>::ok);

// ---- S31: a mean over the tokens of each rank, instead of one divisor for all
struct s31_own_divisor : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto loss = mp::cross_entropy(logits(r, x), labels, 0);
    const auto count = own::sum_over(own::sum_over(labels, dims::seq), dims::batch);
    // told: 'P', 'P', along::dp, fix::to_R
    return own::quotient(loss, count);  // expect: divisor_differs
  }
};
struct s31_one_divisor : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto loss = mp::cross_entropy(logits(r, x), labels, 0);
    const auto count = own::sum_over(own::sum_over(labels, dims::seq), dims::batch);
    return own::quotient(loss, mp::to<I>(count, axes::dp));
  }
};
static_assert(own::head_check<s31_own_divisor, with_sp<>>::ok);
static_assert(own::head_check<s31_one_divisor, with_sp<>>::ok);

// ---- S33: the repair that summed a count over ranks which had all counted the same labels
struct s33_summed_over_copies : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto loss = mp::cross_entropy(logits(r, x), labels, 0);
    const auto count = own::sum_over(own::sum_over(labels, dims::seq), dims::batch);
    // told: 'R', along::tp, fix::leave_as_it_is
    const auto all = own::all_reduce(count, axes::tp);  // expect: reduction_needs_a_partial_sum
    return own::quotient(loss, all);
  }
};
struct s33_summed_where_owed : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto loss = mp::cross_entropy(logits(r, x), labels, 0);
    const auto count = own::sum_over(own::sum_over(labels, dims::seq), dims::batch);
    return own::quotient(loss, own::all_reduce(count, axes::dp));
  }
};
static_assert(own::head_check<s33_summed_over_copies, with_sp<>>::ok);
static_assert(own::head_check<s33_summed_where_owed, with_sp<>>::ok);

// ---- S42, S45: a root before the sum: the norm of what a rank holds. (As a layer: x times the norm of a weight.)
struct norms {
  mp::param<dims::vocab> column{"column"};
};
struct s42_root_of_the_own_part : norms {
  constexpr auto forward(const auto& r, auto x) const {
    const auto squares = own::sum_over(own::product(r[column], r[column]), dims::vocab);
    // told: 'P', along::tp, fix::to_R
    const auto norm = own::root(squares);  // expect: partial_sum_in_a_nonlinearity
    return own::quotient(x, norm);
  }
};
struct s42_root_of_the_sum : norms {
  constexpr auto forward(const auto& r, auto x) const {
    const auto squares = own::sum_over(own::product(r[column], r[column]), dims::vocab);
    return own::quotient(x, own::root(mp::to<R>(squares, axes::tp)));
  }
};
static_assert(mp::check_layer<s42_root_of_the_own_part>());
static_assert(mp::check_layer<s42_root_of_the_sum>());

// ---- S79: a scale factor from the largest element that a rank holds
struct s79_own_maximum : norms {
  constexpr auto forward(const auto& r, auto x) const {
    // told: 'M', along::tp, fix::to_I
    return own::quotient(x, own::largest(r[column]));  // expect: maximum_still_pending
  }
};
struct s79_maximum_of_all : norms {
  constexpr auto forward(const auto& r, auto x) const {
    return own::quotient(x, mp::to<R>(own::largest(r[column]), axes::tp));
  }
};
static_assert(mp::check_layer<s79_own_maximum>());
static_assert(mp::check_layer<s79_maximum_of_all>());

// ---- S64: labels of the whole sequence beside logits of a rank's tokens
struct s64_all_labels : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto own_logits = mp::contract(dims::hidden, x, r[narrow]);
    // told: &cross_entropy_op::info, 'S', 'R', along::tp, fix::to_R_left
    return mp::cross_entropy(own_logits, labels, 0);  // expect: dimension_split_differently
  }
};
struct s64_labels_of_the_same_tokens : heads {
  constexpr auto forward(const auto& r, auto x) const {
    const auto labels = own::labels(r);
    const auto own_logits = mp::contract(dims::hidden, x, r[narrow]);
    return mp::cross_entropy(own_logits, mp::split(labels, dims::seq, axes::tp), 0);
  }
};
static_assert(own::head_check<s64_all_labels, with_sp<>>::ok);
static_assert(own::head_check<s64_labels_of_the_same_tokens, with_sp<>>::ok);
