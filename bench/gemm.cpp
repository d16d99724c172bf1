// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of a training step beside OpenBLAS: GFLOP/s, and the ratio to the better peer of the same run.
// Peers are looked for at run time; one that is missing is named. Option: ROUNDS (3).
#include <meshpar/core/bf16.hpp>
#include <meshpar/device/host_gemm.hpp>
#include <meshpar/device/onednn_gemm.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace meshpar;

namespace {

constexpr int threads = 2;
constexpr double window = 0.03;  // seconds; a rate is the best of two windows

// Debian's OpenBLAS takes processors newer than itself for a very old one; SkylakeX is the best it has with AVX-512.
class openblas {
 public:
  openblas() {
    if (__builtin_cpu_supports("avx512f") != 0) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    sgemm_ = reinterpret_cast<sgemm*>(dlsym(library, "cblas_sgemm"));
    reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(threads);
    core_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"))();
  }
  bool found() const { return sgemm_ != nullptr; }
  const char* core() const { return core_; }
  void multiply(const gemm_shape& s, const float* a, const float* b, float* c) const {
    constexpr int row_major = 101, plain = 111, transposed = 112;
    sgemm_(row_major, s.transpose_a ? transposed : plain, s.transpose_b ? transposed : plain, int(s.m), int(s.n),
           int(s.k), 1, a, int(s.a), b, int(s.b), 0, c, int(s.c));
  }

 private:
  using sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  sgemm* sgemm_ = nullptr;
  const char* core_ = "";
};

struct product {
  const char* name;
  gemm_shape shape;
  int batch = 1;  // one call per matrix
  double flops() const { return 2.0 * double(shape.m) * double(shape.n) * double(shape.k) * batch; }
};

const product products[] = {
    {"1024^3 NN", packed_gemm(false, false, 1024, 1024, 1024)},
    {"2048^3 NN", packed_gemm(false, false, 2048, 2048, 2048)},
    {"124M fc 256x3072x768 NT", packed_gemm(false, true, 256, 3072, 768)},
    {"its dX 256x768x3072 NN", packed_gemm(false, false, 256, 768, 3072)},
    {"its dW 3072x768x256 TN", packed_gemm(true, false, 3072, 768, 256)},
    {"small qkv 1024x768x256 NT", packed_gemm(false, true, 1024, 768, 256)},
    {"small fc 1024x1024x256 NT", packed_gemm(false, true, 1024, 1024, 256)},
    {"small proj 1024x256x1024 NT", packed_gemm(false, true, 1024, 256, 1024)},
    {"small logits 1024x4096x256 NT", packed_gemm(false, true, 1024, 4096, 256)},
    {"its dW 4096x256x1024 TN", packed_gemm(true, false, 4096, 256, 1024)},
    {"its dX 1024x256x4096 NN", packed_gemm(false, false, 1024, 256, 4096)},
    {"32 x (256x256x32) NT", packed_gemm(false, true, 256, 256, 32), 32},
    {"32 x (256x32x256) NN", packed_gemm(false, false, 256, 32, 256), 32},
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// GFLOP/s of `once`.
double rate(const product& p, const std::function<void()>& once) {
  once();
  double best = 0;
  for (int i = 0; i < 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    int calls = 0;
    double elapsed = 0;
    for (; elapsed < window; elapsed = seconds_since(start)) once(), ++calls;
    best = std::max(best, p.flops() * calls / elapsed * 1e-9);
  }
  return best;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Operands of every matrix of a product, with values of mixed sign.
template <class T>
std::vector<T> filled(long n) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = T(float(i * 2654435761u % 1024) / 512 - 1);
  return v;
}

template <class T, class C>
struct operands {
  std::vector<T> a, b;
  std::vector<C> c;
  gemm_shape shape;
  explicit operands(const product& p)
      : a(filled<T>(p.shape.m * p.shape.k * p.batch)),
        b(filled<T>(p.shape.k * p.shape.n * p.batch)),
        c(static_cast<std::size_t>(p.shape.m * p.shape.n * p.batch)),
        shape(p.shape) {}
  template <class F>
  void each(int batch, F f) {
    for (int i = 0; i < batch; ++i)
      f(shape, a.data() + i * shape.m * shape.k, b.data() + i * shape.k * shape.n, c.data() + i * shape.m * shape.n);
  }
};

enum unit { blas, plain, onednn, bf16_wide, bf16_narrow, units };

struct rates {
  std::vector<double> of[units];
};

// One round: every library once on a product.
void measure(const product& p, const openblas& peer, rates& r) {
  operands<float, float> f32(p);
  operands<bf16, float> wide(p);
  operands<bf16, bf16> narrow(p);
  const auto run = [&p](auto& on, auto multiply) { return rate(p, [&] { on.each(p.batch, multiply); }); };
  const auto by = [](auto gemm) {
    return [gemm](const gemm_shape& s, const auto* a, const auto* b, auto* c) { gemm.multiply(s, 1, a, b, 0, c); };
  };
  if (peer.found())
    r.of[blas].push_back(run(f32, [&](auto& s, auto* a, auto* b, auto* c) { peer.multiply(s, a, b, c); }));
  r.of[plain].push_back(run(f32, by(plain_gemm{})));
  r.of[onednn].push_back(run(f32, by(onednn_gemm{})));
  r.of[bf16_wide].push_back(run(wide, by(onednn_gemm{})));
  r.of[bf16_narrow].push_back(run(narrow, by(onednn_gemm{})));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  const openblas peer;
  onednn_gemm::set_threads(threads);
  std::printf("matrix products, GFLOP/s, %d threads (plain: 1), median of %d rounds\n", threads, rounds);
  if (peer.found()) std::printf("peer: OpenBLAS, core %s\n", peer.core());
  else std::printf("peer missing: OpenBLAS (Debian: libopenblas0-pthread)\n");
  std::vector<rates> table(std::size(products));
  for (int i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < table.size(); ++k) measure(products[k], peer, table[k]);

  std::printf("%-30s %9s %9s %9s %9s %9s | %11s %11s\n", "", "OpenBLAS", "plain", "oneDNN", "bf16>f32", "bf16>bf16",
              "f32/best", "bf16/f32");
  std::vector<double> f32_ratio, bf16_ratio;
  for (std::size_t k = 0; k < table.size(); ++k) {
    double m[units] = {};
    for (int u = 0; u < units; ++u)
      if (!table[k].of[u].empty()) m[u] = median(table[k].of[u]);
    f32_ratio.push_back(m[onednn] / std::max(m[blas], m[onednn]));
    bf16_ratio.push_back(std::max(m[bf16_wide], m[bf16_narrow]) / m[onednn]);
    std::printf("%-30s %9.0f %9.0f %9.0f %9.0f %9.0f | %11.2f %11.2f\n", products[k].name, m[blas], m[plain], m[onednn],
                m[bf16_wide], m[bf16_narrow], f32_ratio.back(), bf16_ratio.back());
  }
  std::printf("%-30s %49s | %11.2f %11.2f\n", "median of the ratios", "", median(f32_ratio), median(bf16_ratio));
  std::printf("%-30s %49s | %11s %11s\n", "target, every shape", "", ">= 0.90", ">= 3");
}
