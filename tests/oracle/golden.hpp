// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// golden.json as plain structs, and the comparison with a gradient of ours. make_golden.py says what the values mean.
namespace oracle {

// Of a row-major array: every element if there are at most 64, else 64 samples (entry_index).
struct summary {
  double max_abs, sum, sum_of_squares;
  std::vector<double> entries;
};

struct gradient {
  std::string name;
  std::vector<std::size_t> shape;  // [in, out] for a matrix
  std::uint64_t weights_digest;    // of the parameter's value, not of its gradient
  summary values;
};

struct model {
  std::string name;
  std::size_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions, batch, seq;
  double norm_eps, rope_theta;
  bool tied;
  double loss;
  std::uint64_t tokens_digest;
  summary logits;  // [batch, seq, vocab]
  std::vector<gradient> gradients;
};

inline std::size_t count(const gradient& g) {
  std::size_t n = 1;
  for (std::size_t extent : g.shape) n *= extent;
  return n;
}

// Where entry k of a summary stands in an array of n elements; the stride is prime, so samples are distinct.
inline std::size_t entry_index(std::size_t k, std::size_t n) { return n <= 64 ? k : k * 2654435761u % n; }

// What a difference in `g` is relative to: some gradients are zero by mathematics (the key bias without rotary),
// hence a floor of 1e-3 of the model's largest.
inline double scale(const gradient& g, const model& m) {
  double largest = 0;
  for (const gradient& other : m.gradients) largest = std::max(largest, other.values.max_abs);
  return std::max(g.values.max_abs, 1e-3 * largest);
}

// Largest |difference| / scale over the entries and max|g|, and of the sums per element; infinite if anything is NaN
// or the size is wrong.
inline double largest_difference(const summary& golden, std::span<const double> ours, double scale) {
  const std::size_t n = ours.size();
  if (golden.entries.size() != std::min<std::size_t>(n, 64)) return std::numeric_limits<double>::infinity();
  double worst = 0, max_abs = 0, sum = 0, squares = 0;
  const auto take = [&](double d) {
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, std::abs(d));
  };
  for (double v : ours) max_abs = std::max(max_abs, std::abs(v)), sum += v, squares += v * v;
  for (std::size_t k = 0; k < golden.entries.size(); ++k) take((ours[entry_index(k, n)] - golden.entries[k]) / scale);
  take((max_abs - golden.max_abs) / scale);
  take((sum - golden.sum) / (scale * static_cast<double>(n)));
  take((squares - golden.sum_of_squares) / (scale * scale * static_cast<double>(n)));
  return worst;
}

inline double largest_difference(const gradient& golden, std::span<const double> ours, const model& m) {
  if (ours.size() != count(golden)) return std::numeric_limits<double>::infinity();
  return largest_difference(golden.values, ours, scale(golden, m));
}

inline const gradient& find(const model& m, const std::string& name) {
  for (const gradient& g : m.gradients)
    if (g.name == name) return g;
  throw std::out_of_range("golden " + m.name + " has no parameter " + name);
}

inline std::uint64_t from_hex(const nlohmann::json& j) { return std::stoull(j.get<std::string>(), nullptr, 16); }

inline summary read_summary(const nlohmann::json& j) {
  return {j.at("max_abs"), j.at("sum"), j.at("sum_of_squares"), j.at("entries").get<std::vector<double>>()};
}

inline gradient read_gradient(const nlohmann::json& j) {
  return {j.at("name"), j.at("shape").get<std::vector<std::size_t>>(), from_hex(j.at("weights_digest")),
          read_summary(j)};
}

inline model read_model(const nlohmann::json& j) {
  model m{j.at("name"),
          j.at("layers"),
          j.at("hidden"),
          j.at("heads"),
          j.at("kv_heads"),
          j.at("head_dim"),
          j.at("ffn"),
          j.at("vocab"),
          j.at("positions"),
          j.at("batch"),
          j.at("seq"),
          j.at("norm_eps"),
          j.at("rope_theta"),
          j.at("tied"),
          j.at("loss"),
          from_hex(j.at("tokens_digest")),
          read_summary(j.at("logits")),
          {}};
  for (const nlohmann::json& g : j.at("gradients")) m.gradients.push_back(read_gradient(g));
  return m;
}

inline std::string golden_path() {
  const std::string here = __FILE__;
  return here.substr(0, here.find_last_of('/') + 1) + "golden.json";
}

// The model "gpt2" or "llama"; throws where the file or the model is missing.
inline model read_golden(const std::string& name, const std::string& path = golden_path()) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  const nlohmann::json all = nlohmann::json::parse(file);
  for (const nlohmann::json& m : all.at("models"))
    if (m.at("name") == name) return read_model(m);
  throw std::out_of_range(path + " has no model " + name);
}

}  // namespace oracle
