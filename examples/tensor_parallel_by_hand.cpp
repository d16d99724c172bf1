// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor parallelism on numbers that fit on paper: Z = ReLU(X A) B on two ranks.
//
// First the layer, written once, and what the library derives from it and a split of `ffn`: the piece of A and B that
// each rank holds, and the program. Then the same program by hand, on two threads and their communicator.
#include <meshpar/meshpar.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace mp = meshpar;
using namespace mp::names;
using numbers = std::vector<double>;

struct mlp {
  mp::param<dims::hidden, dims::ffn> a{"A"};
  mp::param<dims::ffn, dims::hidden> b{"B"};

  constexpr auto forward(const auto& r, auto x) const {
    const auto h = mp::to<mp::R>(x, axes::tp);  // whole on every rank already; its gradient will be summed
    const auto y = mp::relu(mp::contract(dims::hidden, h, r[a]));
    const auto z = mp::contract(dims::ffn, y, r[b]);  // ffn is split: each rank has a term of the sum
    return mp::to_layout_of(x, z);                    // one all-reduce
  }
};

// Two ranks of tp, X the same on both, and the columns of A split over them.
constexpr mp::context two_ranks() {
  mp::context c;
  c.ranks = mp::mesh{mp::extent{axes::tp, 2}};
  c.placement.push_back({dims::hidden, 2, 2, {}});
  c.placement.push_back({dims::ffn, 4, 4, axes::tp});
  c.stream =
      mp::with_invariant(mp::make_layout(mp::make_dim(dims::seq, 1, c.ranks), mp::make_dim(dims::batch, 1, c.ranks),
                                         mp::make_dim(dims::hidden, 2, c.ranks)),
                         axes::tp, c.ranks);
  c.compute = c.grad = c.reduce = mp::dtype::f64;
  return c;
}
inline constexpr mp::context columns = two_ranks();
static_assert(mp::layer_check<mlp, columns>::ok);

// With the rows of A split instead, and X with them, X A is a sum that is still owed when ReLU takes it, and
// ReLU(p + q) is not ReLU(p) + ReLU(q): tests/compile_fail/ops_row_split.cpp is that layer, which does not compile.

const char* name_of_step(const mp::record& r) {
  if (r.op != &mp::to_op::info) return r.op->name;
  switch (static_cast<mp::typing::collective>(r.n[0])) {
    case mp::typing::collective::none: return "(no communication)";
    case mp::typing::collective::all_reduce: return "all-reduce";
    default: return "another collective";
  }
}

void print(const char* what, int rank, const numbers& v) {
  std::string line = "  rank " + std::to_string(rank) + "  " + what;
  for (double x : v) line += " " + std::to_string(static_cast<int>(x));
  std::printf("%s\n", line.c_str());
}

// What a rank holds of a whole tensor in this layout.
numbers piece(const mp::layout& l, int rank, const numbers& whole) {
  numbers mine;
  for (std::int64_t i = 0; i < l.local_count(); ++i)
    mine.push_back(whole[static_cast<std::size_t>(mp::global_index(l, columns.ranks, rank, i))]);
  return mine;
}

// op(a)[m, k] op(b)[k, n]
numbers product(long m, long n, long k, const numbers& a, bool transpose_a, const numbers& b, bool transpose_b) {
  numbers c(static_cast<std::size_t>(m * n));
  mp::plain_gemm::multiply(mp::packed_gemm(transpose_a, transpose_b, m, n, k), 1.0, a.data(), b.data(), 0.0, c.data());
  return c;
}

// One rank's share of forward and backward, in the order of the program.
std::vector<std::pair<const char*, numbers>> by_hand(mp::threads& comm, const numbers& a, const numbers& b) {
  const int members[] = {0, 1};
  const mp::group tp = comm.group(members);
  const auto all_reduce = [&](numbers v) {
    comm.all_reduce(tp, v.data(), v.data(), static_cast<long>(v.size()), mp::dtype::f64, mp::dtype::f64,
                    mp::reduction::sum);
    return v;
  };
  const numbers x{1, 2}, dz{1, 1};  // the loss is the sum of Z

  const numbers xa = product(1, 2, 2, x, false, a, false);
  numbers y(2), dxa(2);
  mp::kernels::activate<mp::kernels::relu>(y.data(), xa.data(), 2);
  const numbers z = product(1, 2, 2, y, false, b, false);
  const numbers whole_z = all_reduce(z);

  const numbers dy = product(1, 2, 2, dz, false, b, true);
  mp::kernels::activate_input_grad<mp::kernels::relu>(dxa.data(), dy.data(), xa.data(), 2);
  const numbers dx = product(1, 2, 2, dxa, false, a, true);
  return {{"A           ", a},
          {"B           ", b},
          {"X A         ", xa},
          {"ReLU(X A)   ", y},
          {"a term of Z ", z},
          {"Z           ", whole_z},
          {"dY          ", dy},
          {"d(X A)      ", dxa},
          {"a term of dX", dx},
          {"dX          ", all_reduce(dx)},
          {"dA          ", product(2, 2, 1, x, true, dxa, false)},
          {"dB          ", product(2, 2, 1, y, true, dz, false)}};
}

int main() {
  mp::tracer program(columns);
  mp::trace_middle(program, mlp{});
  std::printf("The weights of a rank:\n");
  for (const mp::parameter& p : program.parameters)
    std::printf("  %s %s\n", p.name, mp::name_of(program.shape(p.id)).c_str());
  for (const bool backward : {false, true}) {
    std::printf(backward ? "Its backward pass:\n" : "Its forward pass:\n");
    for (int i = 0; i < program.records.size(); ++i)
      if ((i >= program.forward_records) == backward) std::printf("  %s\n", name_of_step(program.records[i]));
  }

  const numbers a{1, 0, -1, 2, 0, 1, 1, -1}, b{1, 0, 0, 1, 1, 1, 2, -1};
  mp::threads_world world(2);
  std::vector<std::vector<std::pair<const char*, numbers>>> seen(2);
  world.run([&](mp::threads& comm) {
    const auto mine = [&](int parameter, const numbers& whole) {
      return piece(program.shape(program.parameters[parameter].id), comm.rank(), whole);
    };
    seen[static_cast<std::size_t>(comm.rank())] = by_hand(comm, mine(0, a), mine(1, b));
  });
  std::printf("The same by hand, X = 1 2 and dZ = 1 1 on both:\n");
  for (std::size_t i = 0; i < seen[0].size(); ++i)
    for (int rank = 0; rank < 2; ++rank) {
      const auto& [what, v] = seen[static_cast<std::size_t>(rank)][i];
      print(what, rank, v);
    }
}
