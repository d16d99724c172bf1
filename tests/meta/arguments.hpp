// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/host_kinds.hpp>
#include <meshpar/trace/call_log.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// How many bytes a kernel touches at each of its operands and results, from the numbers it is called with alone.
namespace counted {

using namespace meshpar;

struct sizes {
  std::vector<std::int64_t> in, out;
};

// Bytes of an element, of a statistic, and of a gradient that is added to.
struct widths {
  std::int64_t element, statistic;
};

inline sizes collective_sizes(const record& r, std::int64_t e) {
  const std::int64_t piece = r.n[1] * r.n[2] * e, whole = piece * r.n[3];
  switch (static_cast<collective>(r.n[0])) {
    case collective::all_gather:
    case collective::zero_pad: return {{piece}, {whole}};
    case collective::reduce_scatter:
    case collective::slice: return {{whole}, {piece}};
    case collective::all_reduce:
    case collective::all_reduce_max: return {{r.n[2] * e}, {r.n[2] * e}};
    case collective::keep_first: return {{whole}, {whole}};
    default: throw std::logic_error("no such collective here");
  }
}

inline sizes attention_sizes(const record& r, widths w, bool backward) {
  const std::int64_t q = r.n[0] * r.n[1] * r.n[2] * r.n[3] * w.element, lse = r.n[0] * r.n[1] * r.n[2] * w.statistic;
  const std::int64_t k = r.n[0] * r.n[1] * r.n[4] * r.n[3] * w.element;
  const bool f64 = w.statistic == 8;
  if (backward)
    return {{q, k, k, q, q, lse},
            {q, k, k,
             f64 ? kernels::attention_scratch_bytes<double>(r.n[3]) : kernels::attention_scratch_bytes<float>(r.n[3])}};
  return {{q, k, k},
          {q, lse,
           f64 ? kernels::attention_forward_scratch_bytes<double>(r.n[3])
               : kernels::attention_forward_scratch_bytes<float>(r.n[3])}};
}

// `out` is the element type of the first result.
inline sizes sizes_of(const record& r, widths w, std::int64_t out) {
  const std::int64_t a = r.n[0], b = r.n[1], e = w.element, s = w.statistic;
  const auto is = [&r](const operation& kind) { return r.op == &kind; };
  if (is(to_op::info)) return collective_sizes(r, out);
  if (is(contract_op::info)) return {{a * r.n[2] * e, r.n[2] * b * e}, {a * b * out}};
  if (is(activation_op::info)) return {{a * e}, {a * e}};
  if (is(activation_op::grad_info) || is(swiglu_op::info) || is(sum_op::info) || is(accumulate_op::sum_info))
    return {{a * e, a * e}, {a * e}};
  if (is(swiglu_op::grad_info)) return {{a * e, a * e, a * e}, {a * e, a * e}};
  if (is(accumulate_op::info)) return {{a * size_of(static_cast<dtype>(b))}, {a * out}};
  if (is(rms_norm_kind::info)) return {{a * b * e, b * e}, {a * b * e, a * s}};
  if (is(rms_norm_kind::input_grad_info)) return {{a * b * e, a * b * e, b * e, a * s}, {a * b * e}};
  if (is(rms_norm_kind::weight_grad_info)) return {{a * b * e, a * b * e, a * s}, {b * s}};
  if (is(layer_norm_kind::info)) return {{a * b * e, b * e, b * e}, {a * b * e, a * s, a * s}};
  if (is(layer_norm_kind::input_grad_info)) return {{a * b * e, a * b * e, b * e, a * s, a * s}, {a * b * e}};
  if (is(layer_norm_kind::weight_grad_info)) return {{a * b * e, a * b * e, a * s, a * s}, {b * s, b * s}};
  if (is(bias_op::info)) return {{a * b * e, b * e}, {a * b * e}};
  if (is(bias_op::grad_info)) return {{a * b * e}, {b * s}};
  if (is(dropout_op::info)) return {{a * b * e}, {a * b * e}};
  if (is(rotary_op::info)) return {{a * b * r.n[2] * e, a * r.n[2] * s}, {a * b * r.n[2] * e}};
  if (is(embedding_op::info)) return {{r.n[2] * b * e, a * 4}, {a * b * e}};
  if (is(embedding_op::grad_info)) return {{r.n[2] * b * e, a * b * e, a * 4}, {r.n[2] * b * s}};
  if (is(positions_op::info))
    return {{a * b * r.n[2] * e, -1}, {a * b * r.n[2] * e}};  // all rows of the table: not said
  if (is(positions_op::grad_info)) return {{a * b * r.n[2] * e}, {r.n[4] * r.n[2] * s}};
  if (is(attention_op::info)) return attention_sizes(r, w, false);
  if (is(attention_op::grad_info)) return attention_sizes(r, w, true);
  if (is(cross_entropy_op::max_info)) return {{a * b * e}, {a * s}};
  if (is(cross_entropy_op::sums_info)) return {{a * b * e, a * s, a * 4}, {3 * a * s}};
  if (is(cross_entropy_op::info)) return {{a * b * e, a * s, 3 * a * s, a * 4}, {8, a * s}};
  if (is(cross_entropy_op::grad_info)) return {{a * b * e, a * s, 3 * a * s, a * 4, 8}, {a * b * e}};
  throw std::logic_error(std::string("no sizes are known for the operation ") + r.op->name);
}

}  // namespace counted
