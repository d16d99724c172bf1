// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/kernels/block.hpp>

#include <cstdint>

namespace meshpar::inline v0::kernels {

// y[tokens, width] = rows of table[vocab_end - vocab_begin, width], which holds the global rows from vocab_begin up to
// vocab_end; an id outside gives a zero row (another rank's term of the sum).
template <block B, class T>
MESHPAR_HD void embedding(const B& b, index_range tokens, T* y, const T* table, const std::int32_t* ids, long width,
                          long vocab_begin, long vocab_end) {
  for (long t = tokens.begin; t < tokens.end; ++t) {
    const long id = ids[t];
    const bool here = vocab_begin <= id && id < vocab_end;
    const T* row = table + (here ? id - vocab_begin : 0) * width;
    T* yr = y + t * width;
    if (here) for_each(b, {0, width}, [=](long i) { yr[i] = row[i]; });
    else for_each(b, {0, width}, [=](long i) { yr[i] = T{}; });
  }
}

// gtable += rows of gy[tokens, width] at their ids, in token order, for the columns of the range. G is the gradient's
// element type; with G = accumulator_t<T> nothing is rounded on the way.
template <block B, class G, class T>
MESHPAR_HD void embedding_grad(const B& b, index_range columns, G* gtable, const T* gy, const std::int32_t* ids,
                               long tokens, long width, long vocab_begin, long vocab_end) {
  using A = accumulator_t<G>;
  for (long t = 0; t < tokens; ++t) {
    const long id = ids[t];
    if (id < vocab_begin || id >= vocab_end) continue;
    G* row = gtable + (id - vocab_begin) * width;
    const T* gr = gy + t * width;
    for_each(b, columns, [=](long i) { row[i] = G(A(row[i]) + A(gr[i])); });
  }
}

template <class T>
void embedding(T* y, const T* table, const std::int32_t* ids, long tokens, long width, long vocab_begin,
               long vocab_end) {
  embedding(one_thread{}, {0, tokens}, y, table, ids, width, vocab_begin, vocab_end);
}
template <class G, class T>
void embedding_grad(G* gtable, const T* gy, const std::int32_t* ids, long tokens, long width, long vocab_begin,
                    long vocab_end) {
  embedding_grad(one_thread{}, {0, width}, gtable, gy, ids, tokens, width, vocab_begin, vocab_end);
}

}  // namespace meshpar::inline v0::kernels
