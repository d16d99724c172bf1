// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that has its own kernel and its own memory, and joins in without being rewritten.
#include <meshpar/meshpar.hpp>
#include <meshpar/ops/check_local.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

// ---- What was there before: a SwiGLU over plain arrays, and its derivatives. It knows nothing of ranks.
namespace solver {

void gate(const double* a, const double* b, double* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = a[i] / (1 + std::exp(-a[i])) * b[i];
}
void gate_backward(const double* a, const double* b, const double* dy, double* da, double* db, long n) {
  for (long i = 0; i < n; ++i) {
    const double s = 1 / (1 + std::exp(-a[i]));
    da[i] = dy[i] * b[i] * s * (1 + a[i] * (1 - s));
    db[i] = dy[i] * a[i] * s;
  }
}
// y[rows, n] = x[rows, k] w[k, n]
void product(const double* x, const double* w, double* y, long rows, long k, long n) {
  for (long i = 0; i < rows * n; ++i) y[i] = 0;
  for (long r = 0; r < rows; ++r)
    for (long j = 0; j < k; ++j)
      for (long i = 0; i < n; ++i) y[r * n + i] += x[r * k + j] * w[j * n + i];
}
void product_backward(const double* x, const double* w, const double* dy, double* dx, double* dw, long rows, long k,
                      long n) {
  for (long i = 0; i < rows * k; ++i) dx[i] = 0;
  for (long i = 0; i < k * n; ++i) dw[i] = 0;
  for (long r = 0; r < rows; ++r)
    for (long j = 0; j < k; ++j)
      for (long i = 0; i < n; ++i) {
        dx[r * k + j] += dy[r * n + i] * w[j * n + i];
        dw[j * n + i] += dy[r * n + i] * x[r * k + j];
      }
}

}  // namespace solver

namespace mp = meshpar;
using namespace mp::names;

// ---- What is added: for each kernel the dims of its operands, and which of them it may get a piece of. From this
// follows what it returns over every axis of every plan, and what its gradients are.
struct gate {
  static constexpr const char* name = "gate";
  static constexpr mp::local_edges edges{
      .inputs = {{"a", {dims::seq, dims::batch, dims::ffn}}, {"b", {dims::seq, dims::batch, dims::ffn}}},
      .result = {"y", {dims::seq, dims::batch, dims::ffn}},
      .splits = {dims::seq, dims::batch, dims::ffn}};

  static void forward(mp::buffer<const double> a, const double* b, double* y) { solver::gate(a, b, y, a.count()); }
  static void backward(mp::buffer<const double> a, const double* b, const double* dy, double* da, double* db) {
    solver::gate_backward(a, b, dy, da, db, a.count());
  }
};
// A rank with some rows of w returns a term of the sum: y has no ffn, so it is P where ffn is split.
struct down_product {
  static constexpr const char* name = "down_product";
  static constexpr mp::local_edges edges{
      .inputs = {{"x", {dims::seq, dims::batch, dims::ffn}}, {"w", {dims::ffn, dims::hidden}}},
      .result = {"y", {dims::seq, dims::batch, dims::hidden}},
      .splits = {dims::seq, dims::batch, dims::ffn}};

  static constexpr long flops(const mp::layout& x, const mp::layout& w) {  // for the price of a step
    return 2 * x.local_count() * w.dims[1].local;
  }
  static void forward(mp::buffer<const double> x, mp::buffer<const double> w, double* y) {
    solver::product(x, w, y, x.count() / w.size(dims::ffn), w.size(dims::ffn), w.size(dims::hidden));
  }
  static void backward(mp::buffer<const double> x, mp::buffer<const double> w, const double* dy, double* dx,
                       double* dw) {
    solver::product_backward(x, w, dy, dx, dw, x.count() / w.size(dims::ffn), w.size(dims::ffn), w.size(dims::hidden));
  }
};

// A layer with both of them among operations of the library.
struct own_mlp {
  mp::param<dims::hidden, dims::ffn> gate_weight{"gate"}, up{"up"};
  mp::param<dims::ffn, dims::hidden> down{"down", mp::initial::residual};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);
    const auto a = mp::contract(dims::hidden, h, r[gate_weight]);
    const auto b = mp::contract(dims::hidden, h, r[up]);
    return mp::to_layout_of(x, mp::local<down_product>(mp::local<gate>(a, b), r[down]));
  }
};
static_assert(mp::check_layer<own_mlp>());

inline constexpr mp::model tiny =
    mp::llama_like({.layers = 2, .hidden = 32, .heads = 4, .ffn = 64, .vocab = 64, .seq = 16});
inline constexpr mp::job batch8{.global_batch = 8};
inline constexpr mp::plan eight{.dp = 2, .tp = 4, .sequence_parallel = true, .precision = mp::all_f64};
inline constexpr mp::plan alone{.precision = mp::all_f64};

using net = mp::decoder<tiny, batch8, eight, mp::replace<mp::mlp, own_mlp>>;  // eight ranks, our kernels
using reference = mp::decoder<tiny, batch8, alone>;                           // one rank, the library's

template <class Rank>
double one_step(Rank& r, long number) {
  return r
      .step(
          static_cast<std::uint64_t>(number),
          [](long sample, long q) { return static_cast<int>((sample * 7 + q * 5) % 64); },
          [](long sample, long q) { return static_cast<int>((sample * 7 + q * 5 + 5) % 64); },
          {.adam = {.learning_rate = 3e-3}})
      .loss;
}

// Memory of the program's own: it could be huge pages, or a window that processes share.
struct own_memory {
  explicit own_memory(std::int64_t n) : bytes((n + 63) / 64 * 64) {
    start = std::aligned_alloc(64, static_cast<std::size_t>(bytes));
    if (start == nullptr) throw std::bad_alloc();
  }
  own_memory(const own_memory&) = delete;
  ~own_memory() { std::free(start); }
  std::int64_t bytes;
  void* start;
};

int main() {
  // Types see whether operands are as declared, not whether the declaration is true: this does.
  for (const std::string& fault : {mp::check_local<gate>(), mp::check_local<down_product>()})
    if (!fault.empty()) return std::fprintf(stderr, "existing_code: %s\n", fault.c_str()), 1;
  std::printf("Both kernels are what they declare, in f64 on two simulated ranks.\n\n");

  const mp::program p(net::what, net::task, net::how, net::make_layers());
  std::printf("What follows for the weights that enter them:\n");
  for (const mp::parameter_entry& e : p.parameters)
    if (e.kind == mp::block_kind::mlp && std::string(p.declared(e).scope) == "mlp")
      std::printf("  %-5s %-24s gradient summed over %s\n", p.declared(e).name, mp::name_of(p.shape(e)).c_str(),
                  mp::name_of(p.buckets[e.bucket].sync).c_str());

  std::vector<double> expected;
  mp::launch<reference>([&](auto& r) {
    for (long k = 1; k <= 5; ++k) expected.push_back(one_step(r, k));
  });

  std::printf("\nTraining in memory of %lld bytes that the program allocated for each rank:\n",
              static_cast<long long>(mp::cost_of<net>.height));
  std::printf("  step  8 ranks, own kernels  1 rank, the library's\n");
  mp::threads_world world(p.where.ranks.size());
  world.run([&](mp::threads& comm) {
    const own_memory memory(mp::cost_of<net>.height);
    mp::rank<mp::types_of<net>, mp::plain_gemm, mp::threads> r(p, comm, mp::arena(memory.start, memory.bytes));
    for (long k = 1; k <= 5; ++k) {
      const double loss = one_step(r, k);
      if (r.number() == 0)
        std::printf("  %4ld  %20.15f  %21.15f\n", k, loss, expected[static_cast<std::size_t>(k - 1)]);
    }
    if (r.number() > 0) return;
    const auto down = r.parameter("layers.1.mlp.down");  // no copy: where it lies
    std::printf("\nlayers.1.mlp.down of rank 0 lies %td bytes into it, as %s, and begins %.6f %.6f\n",
                reinterpret_cast<char*>(down.value) - static_cast<char*>(memory.start), mp::name_of(down.shape).c_str(),
                down.value[0], down.value[1]);
  });
}
