// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>
#include <meshpar/kernels/math.hpp>

#include <cmath>
#include <cstdint>

namespace meshpar::inline v0::kernels {

// Softmax cross-entropy of logits[rows, width] whose vocabulary may be split over ranks, in parts with a reduction
// between them: row_max, [max over ranks], row_sums, [sum over ranks], row_loss; then logits_grad. A rank holds the
// global columns from vocab_begin; of its `width` columns the first `valid` are real and the rest padding, which takes
// part in nothing. A label is a global column, or -1: no loss and no gradient. With smoothing e the target is (1 - e)
// at the label plus e / vocab everywhere.

// m[rows] = the largest real logit, -inf where a rank has none.
template <block B, class T>
MESHPAR_HD void row_max(const B& b, index_range rows, accumulator_t<T>* m, const T* logits, long width, long valid) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* row = logits + r * width;
    const A top = max_over<A>(b, valid, -infinity<A>, [=](long i) { return A(row[i]); });
    if (b.thread() == 0) m[r] = top;
  }
}

// What a row needs of the whole vocabulary, as terms to be summed over ranks: sum of e^(x - m), x at the label (0 where
// another rank has it), sum of x (for smoothing). Each array is [rows]; m is the global maximum.
template <class A>
struct row_terms {
  A *sum_exp, *target, *sum;
};

template <block B, class T>
MESHPAR_HD void row_sums(const B& b, index_range rows, row_terms<accumulator_t<T>> terms, const T* logits,
                         const accumulator_t<T>* m, const std::int32_t* labels, long vocab_begin, long width,
                         long valid) {
  using A = accumulator_t<T>;
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* row = logits + r * width;
    const A top = m[r];
    const A sum_exp = sum_over<A>(b, valid, [=](long i) { return exp_of(A(row[i]) - top); });
    const A sum = sum_over<A>(b, valid, [=](long i) { return A(row[i]); });
    const long at = labels[r] - vocab_begin;
    if (b.thread() != 0) continue;
    terms.sum_exp[r] = sum_exp;
    terms.target[r] = labels[r] >= 0 && at >= 0 && at < valid ? A(row[at]) : A{};
    terms.sum[r] = sum;
  }
}

// loss[rows] = m + log(sum_exp) - (1 - e) target - e sum / vocab.
template <block B, class A>
MESHPAR_HD void row_loss(const B& b, index_range rows, A* per_row, const A* m, row_terms<A> terms,
                         const std::int32_t* labels, double smoothing, long vocab) {
  const A at_label = A(1 - smoothing), elsewhere = A(smoothing / double(vocab));
  for_each(b, rows, [=](long r) {
    const A value = m[r] + std::log(terms.sum_exp[r]) - at_label * terms.target[r] - elsewhere * terms.sum[r];
    per_row[r] = labels[r] < 0 ? A{} : value;
  });
}

// The gradient's seed: one number for all rows (the reciprocal of the label count, say), times one per row if given.
template <class A>
struct row_seed {
  A all = A{1};
  const A* each = nullptr;
  MESHPAR_HD A operator()(long r) const { return each ? all * each[r] : all; }
};

// glogits = seed (e^(x - m) / sum_exp - target distribution), 0 in padding. It may be logits itself.
template <block B, class T>
MESHPAR_HD void logits_grad(const B& b, index_range rows, T* glogits, const T* logits, const accumulator_t<T>* m,
                            const accumulator_t<T>* sum_exp, const std::int32_t* labels,
                            row_seed<accumulator_t<T>> seed, long vocab_begin, long width, long valid, double smoothing,
                            long vocab) {
  using A = accumulator_t<T>;
  const A at_label = A(1 - smoothing), elsewhere = A(smoothing / double(vocab));
  for (long r = rows.begin; r < rows.end; ++r) {
    const T* row = logits + r * width;
    T* out = glogits + r * width;
    const A top = m[r], weight = labels[r] < 0 ? A{} : seed(r), scale = weight / sum_exp[r];
    const long label = labels[r] - vocab_begin;
    const bool here = labels[r] >= 0 && label >= 0 && label < valid;
    const A known = here ? exp_of(A(row[label]) - top) * scale - weight * (elsewhere + at_label) : A{};
    b.sync();  // the label's logit is read before anyone overwrites it
    for_each(b, {0, valid}, [=](long i) { out[i] = T(exp_of(A(row[i]) - top) * scale - weight * elsewhere); });
    for_each(b, {valid, width}, [=](long i) { out[i] = T{}; });
    b.sync();
    if (here && b.thread() == 0) out[label] = T(known);
  }
}

template <class T>
void row_max(accumulator_t<T>* m, const T* logits, long rows, long width, long valid) {
  row_max(one_thread{}, {0, rows}, m, logits, width, valid);
}
template <class T>
void row_sums(row_terms<accumulator_t<T>> terms, const T* logits, const accumulator_t<T>* m, const std::int32_t* labels,
              long vocab_begin, long rows, long width, long valid) {
  row_sums(one_thread{}, {0, rows}, terms, logits, m, labels, vocab_begin, width, valid);
}
template <class A>
void row_loss(A* per_row, const A* m, row_terms<A> terms, const std::int32_t* labels, long rows, double smoothing,
              long vocab) {
  row_loss(one_thread{}, {0, rows}, per_row, m, terms, labels, smoothing, vocab);
}
template <class T>
void logits_grad(T* glogits, const T* logits, const accumulator_t<T>* m, const accumulator_t<T>* sum_exp,
                 const std::int32_t* labels, row_seed<accumulator_t<T>> seed, long vocab_begin, long rows, long width,
                 long valid, double smoothing, long vocab) {
  logits_grad(one_thread{}, {0, rows}, glogits, logits, m, sum_exp, labels, seed, vocab_begin, width, valid, smoothing,
              vocab);
}

}  // namespace meshpar::inline v0::kernels
