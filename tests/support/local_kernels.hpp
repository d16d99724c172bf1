// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/local.hpp>

#include <cmath>

// Kernels as an existing code has them: plain loops over its own buffers.
namespace existing {

namespace mp = meshpar;
namespace dims = mp::dims;
using std::int64_t;

// y = x w; over an axis that splits ffn each rank has its rows of w and makes a term of y.
struct row_product {
  static constexpr const char* name = "row_product";
  static constexpr mp::local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::ffn}}, {"w", {dims::ffn, dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::seq, dims::batch, dims::ffn}};

  static constexpr long flops(const mp::layout& x, const mp::layout& w) {
    return 2 * x.local_count() * w.dims[1].local;
  }
  template <class T>
  static void forward(mp::buffer<const T> x, mp::buffer<const T> w, mp::buffer<T> y) {
    const int64_t k = w.size(0), n = w.size(1), rows = x.count() / k;
    for (int64_t i = 0; i < rows * n; ++i) y[i] = 0;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < k; ++j)
        for (int64_t i = 0; i < n; ++i) y[r * n + i] += x[r * k + j] * w[j * n + i];
  }
  template <class T>
  static void backward(mp::buffer<const T> x, mp::buffer<const T> w, mp::buffer<const T> dy, mp::buffer<T> dx,
                       mp::buffer<T> dw) {
    const int64_t k = w.size(0), n = w.size(1), rows = x.count() / k;
    for (int64_t i = 0; i < dx.count(); ++i) dx[i] = 0;
    for (int64_t i = 0; i < dw.count(); ++i) dw[i] = 0;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < k; ++j)
        for (int64_t i = 0; i < n; ++i) {
          dx[r * k + j] += dy[r * n + i] * w[j * n + i];
          dw[j * n + i] += dy[r * n + i] * x[r * k + j];
        }
  }
};

// RMSNorm: rows are independent, hidden is whole. The root of each row passes to backward.
struct rms_norm {
  static constexpr const char* name = "own_rms_norm";
  static constexpr double eps = 1e-5;
  static constexpr mp::local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::hidden}}, {"gain", {dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::seq, dims::batch}};

  static constexpr int64_t statistics(const mp::layout& x, const mp::layout& gain) {
    return x.local_count() / gain.local_count();
  }
  template <class T>
  static void forward(mp::buffer<const T> x, mp::buffer<const T> gain, mp::buffer<T> y, mp::accumulator_t<T>* root) {
    const int64_t n = gain.count(), rows = x.count() / n;
    for (int64_t r = 0; r < rows; ++r) {
      mp::accumulator_t<T> squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += x[r * n + i] * x[r * n + i];
      root[r] = 1 / std::sqrt(squares / static_cast<mp::accumulator_t<T>>(n) + mp::accumulator_t<T>(eps));
      for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * root[r] * gain[i];
    }
  }
  template <class T>
  static void backward(mp::buffer<const T> x, mp::buffer<const T> gain, mp::buffer<const T> dy,
                       const mp::accumulator_t<T>* root, mp::buffer<T> dx, mp::buffer<T> dgain) {
    const int64_t n = gain.count(), rows = x.count() / n;
    for (int64_t i = 0; i < n; ++i) dgain[i] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      mp::accumulator_t<T> dot = 0;
      for (int64_t i = 0; i < n; ++i) {
        dot += dy[r * n + i] * gain[i] * x[r * n + i];
        dgain[i] += dy[r * n + i] * x[r * n + i] * root[r];
      }
      dot *= root[r] * root[r] / static_cast<mp::accumulator_t<T>>(n);
      for (int64_t i = 0; i < n; ++i) dx[r * n + i] = root[r] * (dy[r * n + i] * gain[i] - dot * x[r * n + i]);
    }
  }
};

// silu(gate) * up, element by element, and its pullback.
template <class T>
T swiglu(T gate, T up) {
  return gate / (1 + std::exp(-gate)) * up;
}
template <class T>
void swiglu_grad(T gate, T up, T dy, T& dgate, T& dup) {
  const T s = 1 / (1 + std::exp(-gate));
  dgate = dy * up * s * (1 + gate * (1 - s));
  dup = dy * gate * s;
}

// A whole SwiGLU MLP: x is whole where ffn is split, the result a term of the sum. Nothing but its inputs is kept: its
// backward makes gate and up again, a row at a time in scratch.
struct swiglu_mlp {
  static constexpr const char* name = "swiglu_mlp";
  static constexpr mp::local_edges edges{.inputs = {{"x", {dims::seq, dims::batch, dims::hidden}},
                                                    {"gate", {dims::hidden, dims::ffn}},
                                                    {"up", {dims::hidden, dims::ffn}},
                                                    {"down", {dims::ffn, dims::hidden}}},
                                         .result = {"y", {dims::seq, dims::batch, dims::hidden}},
                                         .splits = {dims::seq, dims::batch, dims::ffn}};

  static constexpr long flops(const mp::layout& x, const mp::layout& gate, const mp::layout&, const mp::layout&) {
    return 6 * x.local_count() * gate.dims[1].local;
  }
  static constexpr int64_t scratch(const mp::layout&, const mp::layout& gate, const mp::layout&, const mp::layout&) {
    return 2 * gate.dims[1].local;
  }
  template <class T>
  static void widen(const T* x, const T* gate, const T* up, int64_t h, int64_t f, T* g, T* u) {
    for (int64_t j = 0; j < f; ++j) g[j] = u[j] = 0;
    for (int64_t i = 0; i < h; ++i)
      for (int64_t j = 0; j < f; ++j) g[j] += x[i] * gate[i * f + j], u[j] += x[i] * up[i * f + j];
  }
  template <class T>
  static void forward(mp::buffer<const T> x, mp::buffer<const T> gate, mp::buffer<const T> up, mp::buffer<const T> down,
                      mp::buffer<T> y, T* scratch) {
    const int64_t h = gate.size(0), f = gate.size(1), rows = x.count() / h;
    T *g = scratch, *u = scratch + f;
    for (int64_t r = 0; r < rows; ++r) {
      widen<T>(x + r * h, gate, up, h, f, g, u);
      for (int64_t i = 0; i < h; ++i) y[r * h + i] = 0;
      for (int64_t j = 0; j < f; ++j)
        for (int64_t i = 0; i < h; ++i) y[r * h + i] += swiglu(g[j], u[j]) * down[j * h + i];
    }
  }
  template <class T>
  static void backward(mp::buffer<const T> x, mp::buffer<const T> gate, mp::buffer<const T> up,
                       mp::buffer<const T> down, mp::buffer<const T> dy, mp::buffer<T> dx, mp::buffer<T> dgate,
                       mp::buffer<T> dup, mp::buffer<T> ddown, T* scratch) {
    const int64_t h = gate.size(0), f = gate.size(1), rows = x.count() / h;
    T *g = scratch, *u = scratch + f;
    for (int64_t i = 0; i < h * f; ++i) dgate[i] = dup[i] = ddown[i] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      widen<T>(x + r * h, gate, up, h, f, g, u);
      for (int64_t i = 0; i < h; ++i) dx[r * h + i] = 0;
      for (int64_t j = 0; j < f; ++j) {
        T dz = 0, dg, du;
        for (int64_t i = 0; i < h; ++i) {
          dz += dy[r * h + i] * down[j * h + i];
          ddown[j * h + i] += dy[r * h + i] * swiglu(g[j], u[j]);
        }
        swiglu_grad(g[j], u[j], dz, dg, du);
        for (int64_t i = 0; i < h; ++i) {
          dx[r * h + i] += dg * gate[i * f + j] + du * up[i * f + j];
          dgate[i * f + j] += dg * x[r * h + i], dup[i * f + j] += du * x[r * h + i];
        }
      }
    }
  }
};

}  // namespace existing
