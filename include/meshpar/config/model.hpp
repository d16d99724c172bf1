// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
namespace meshpar::inline v0 {

enum class norm_kind : unsigned char { layer, rms };
enum class activation_kind : unsigned char { gelu, relu, swiglu };
enum class position_kind : unsigned char { learned, rotary };

// What is computed, whatever the number of ranks. Sizes are those of the whole model; the defaults beyond the sizes
// are GPT-2's. It is a structural type: a namespace-scope `inline constexpr` model can be a template argument, by value
// or by reference.
struct model {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  // 0: as many as heads
  int head_dim = 0;  // 0: hidden / heads
  int ffn = 0;
  int vocab = 0;
  int seq = 0;
  int experts = 0;  // 0: a dense model; otherwise experts of width ffn in each layer
  int top_k = 0;    // experts that each token goes to
  norm_kind norm = norm_kind::layer;
  activation_kind activation = activation_kind::gelu;
  position_kind positions = position_kind::learned;
  bool bias = true;  // of the linear layers
  bool qk_norm = false;
  bool tied_embeddings = true;
  double dropout = 0;
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  constexpr bool operator==(const model&) const = default;
};

// The sizes of a model with the choices of the Llama family: RMSNorm, SwiGLU, rotary positions, no biases, untied.
constexpr model llama_like(model sizes) {
  sizes.norm = norm_kind::rms;
  sizes.activation = activation_kind::swiglu;
  sizes.positions = position_kind::rotary;
  sizes.bias = sizes.tied_embeddings = false;
  return sizes;
}

// The sizes of a model with the choices of GPT-2: LayerNorm, GELU, learned positions, biases, tied embeddings.
constexpr model gpt2_like(model sizes) {
  sizes.norm = norm_kind::layer;
  sizes.activation = activation_kind::gelu;
  sizes.positions = position_kind::learned;
  sizes.bias = sizes.tied_embeddings = true;
  return sizes;
}

constexpr int kv_heads_of(const model& m) { return m.kv_heads == 0 ? m.heads : m.kv_heads; }
constexpr int head_dim_of(const model& m) {
  return m.head_dim != 0 ? m.head_dim : m.heads > 0 ? m.hidden / m.heads : 0;
}

}  // namespace meshpar::inline v0
