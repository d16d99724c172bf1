// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/typing/elementwise.hpp>

namespace meshpar::inline v0::typing {

// Softmax over a whole dim.
constexpr judged softmax(const layout& x, dim_name over_dim) {
  const int i = x.find(over_dim);
  if (i < 0) return {{}, no_dim("softmax", "the operand", over_dim)};
  if (!x.dims[i].by.empty()) return {{}, not_whole("softmax", x.dims[i])};
  return nonlinear(x, "softmax");
}

// Cross-entropy with split logits is typed by its parts; logits are [..., vocab], the results [...].

// The largest logit of each row: a pending maximum over the axes that split vocab. Without gradient.
constexpr judged row_max(const layout& logits) {
  if (verdict v = settled("row_max", logits); !v.holds()) return {{}, v};
  if (logits.dims.empty()) return {{}, no_dim("row_max", "the operand", dims::vocab)};
  layout out = logits;
  out.maximum = logits.dims.back().by.axes();
  out.dims.pop_back();
  return {out, {}};
}

// Sums over vocab of a function of each logit, shifted by the row's maximum: exp for the normaliser, the value at the
// label, the mean for label smoothing. Owed over the axes that split vocab. The shift has no gradient: R or I there.
constexpr judged row_sums(const layout& logits, const layout& shift, const char* what = "row_sums") {
  if (verdict v = settled(what, logits); !v.holds()) return {{}, v};
  if (verdict v = settled(what, shift); !v.holds()) return {{}, v};
  if (logits.dims.empty()) return {{}, no_dim(what, "the operand", dims::vocab)};
  layout out = logits;
  out.owed = logits.dims.back().by.axes();
  out.dims.pop_back();
  return {out, equal_dims(what, out, shift)};
}

// logits [seq, batch, vocab], labels [seq, batch] -> the loss of each token [seq, batch]: I over the axes that split
// vocab (its two small reductions end there), and otherwise in the state of the logits. Labels are whole over them.
constexpr judged cross_entropy(const layout& logits, const layout& labels) {
  const judged sums = row_sums(logits, labels, "cross_entropy");
  if (!sums.holds()) return {{}, sums.no};
  layout out = sums.out;
  out.invariant = out.invariant | out.owed;
  out.owed = {};
  return {out, {}};
}

// Where a backward pass may begin: a scalar that is P or I over every axis of the mesh. Its gradient, one on every
// rank, is then R or I; a loss that is R would be counted once per rank.
constexpr judged seed(const layout& loss, const mesh& m) {
  if (!loss.dims.empty())
    return {
        {},
        broken_by(rule::loss_partial_or_invariant, fix::sum_over,
                  text{} << "seed: the loss still has dims, it is " << name_of(loss) << "; sum it with sum_over first",
                  loss.dims.size())};
  if (!loss.maximum.empty()) return {{}, pending_maximum("seed", loss)};
  if (const axis_set loose = loss.replicated(m); !loose.empty()) {
    const axis a = first_of(loose);
    const int ranks = m.size(whole_axis(a) & loose);
    return {{},
            mended_by(fix::to_I, "x", at(a, loss), rule::loss_partial_or_invariant,
                      text{} << "seed: the loss is R over " << name_of(a) << ", so " << ranks
                             << " ranks would count it; make it I with ",
                      ranks, 1)};
  }
  return {dual(loss, m), {}};
}

}  // namespace meshpar::inline v0::typing
