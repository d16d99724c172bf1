// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/rules/words.hpp>

namespace meshpar::inline v0 {

// Every size and extent is at least 1; the fields for which 0 means something may be 0.
constexpr verdict positive_sizes(const model& m, const job& j, const plan& p) {
  struct bounded {
    quantity q;
    long least;
  };
  const bounded fields[] = {{{"layers", m.layers}, 1},
                            {{"hidden", m.hidden}, 1},
                            {{"heads", m.heads}, 1},
                            {{"kv_heads", m.kv_heads}, 0},
                            {{"head_dim", m.head_dim}, 0},
                            {{"ffn", m.ffn}, 1},
                            {{"vocab", m.vocab}, 1},
                            {{"seq", m.seq}, 1},
                            {{"experts", m.experts}, 0},
                            {{"top_k", m.top_k}, 0},
                            {{"global_batch", j.global_batch}, 1},
                            {{"micro_batch", j.micro_batch}, 1},
                            {{"pp", p.pp}, 1},
                            {{"dp", p.dp}, 1},
                            {{"cp", p.cp}, 1},
                            {{"tp", p.tp}, 1},
                            {{"edp", p.edp}, 0},
                            {{"ep", p.ep}, 1},
                            {{"etp", p.etp}, 1},
                            {{"virtual_stages", p.virtual_stages}, 1}};
  const bounded* first = nullptr;
  text t;
  for (const bounded& f : fields) {
    if (f.q.n >= f.least) continue;
    if (first == nullptr) first = &f;
    (t.empty() ? t : t << ", ") << f.q;
  }
  if (first == nullptr) return {};
  t << " must be at least " << first->least;
  return refuse(rule::positive_sizes, first->q.n, first->least, {fix::see_sentence, first->least}, t);
}

// x with at most six decimals.
constexpr text decimal(double x) {
  text t;
  if (!(x == x)) return t << "not a number";
  if (x < 0) t << '-';
  if (x < 0) x = -x;
  if (x > 1e12) return t << "above 1e12";
  const long millionths = static_cast<long>(x * 1e6 + 0.5);
  t << millionths / 1000000;
  long rest = millionths % 1000000;
  if (rest != 0) t << '.';
  for (long digit = 100000; rest != 0; rest %= digit, digit /= 10) t << rest / digit;
  return t;
}

// Probabilities lie in [0, 1), what is divided by or raised to a power is above 0, zero is one of its four stages.
constexpr verdict values_in_range(const model& m, const job& j, const plan& p) {
  const auto outside = [](const char* name, double value, const char* range) {
    text t;
    t << name << " (" << decimal(value) << ") must be " << range;
    return refuse(rule::values_in_range, value > -1e12 && value < 1e12 ? static_cast<long>(value) : 0, 0,
                  {fix::see_sentence}, t);
  };
  if (!(m.dropout >= 0 && m.dropout < 1)) return outside("dropout", m.dropout, "at least 0 and below 1");
  if (!(j.label_smoothing >= 0 && j.label_smoothing < 1))
    return outside("label_smoothing", j.label_smoothing, "at least 0 and below 1");
  if (!(m.norm_eps > 0 && m.norm_eps < 1e12)) return outside("norm_eps", m.norm_eps, "above 0 and finite");
  if (!(m.rope_theta > 0 && m.rope_theta < 1e12)) return outside("rope_theta", m.rope_theta, "above 0 and finite");
  if (double{1} * p.pp * p.dp * p.cp * p.tp > 1 << 30)
    return outside("the number of ranks", double{1} * p.pp * p.dp * p.cp * p.tp, "at most 2^30");
  if (p.zero < 0 || p.zero > 3) return outside("zero", p.zero, "0, 1, 2 or 3");
  return {};
}

}  // namespace meshpar::inline v0
