// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"
#include "rows.hpp"

#include <cstdio>
#include <set>

// What scripts/mutate_saved compares: the operands of backward operations that are saved values, and for each of a few
// plans the predicted and the counted bytes of saved values and one number made of all gradients.
namespace {
using namespace meshpar_test;

void print_reads(const program& p, std::set<std::string>& known) {
  for (const tracer& t : p.blocks)
    for (int i = t.forward_records; i < t.records.size(); ++i)
      for (int k = 0; k < t.records[i].in.size(); ++k) {
        const std::string name = std::string(t.records[i].op->name) + ":" + std::to_string(k);
        if (t.values[root_of(t, t.records[i].in[k])].where == space::saved && known.insert(name).second)
          std::printf("reads %s\n", name.c_str());
      }
}

// A projection of all gradients, with a different factor for each element.
double projection(const tensors& all) {
  double sum = 0, i = 1;
  for (const auto& [name, v] : all)
    for (const double x : v) sum += x * std::cos(1.7 * i++);
  return sum;
}

const std::vector<row> probed{
    // fam dp tp sp kv tied drop vocab micro size smooth qk bias act norm
    {0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0},  // GPT-2, one rank
    {1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 2, 1},  // Llama with q/k norms, tp2 sp
};

}  // namespace

int main() {
  std::set<std::string> known;
  for (const row& r : probed) {
    const model m = model_of(r);
    const job j = job_of(r);
    const program p(m, j, plan_of(r), stack<>(m, j));
    if (p.refused()) return std::printf("refused %s\n", p.refusal().why.c_str()), 1;
    print_reads(p, known);
    const trained o = train<f64_types>(p, 1);
    std::printf("plan predicted %lld counted %lld gradients %.9e\n", static_cast<long long>(p.memory.saved.bytes),
                static_cast<long long>(aligned(o.memory[0].saved)), projection(o.gradients));
  }
}
