// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device of a user's own: a communicator and a table of kinds. This one computes nothing and counts its calls.
#include <meshpar/meshpar.hpp>
#include <meshpar/meta/runs_on.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace mp = meshpar;
namespace axes = mp::axes;

namespace {

struct counting_device {
  mp::threads* comm = nullptr;
  long products = 0, collectives = 0, others = 0;
};
void count_product(counting_device& d, const mp::bound&) { ++d.products; }
void count_collective(counting_device& d, const mp::bound&) { ++d.collectives; }
void count_other(counting_device& d, const mp::bound&) { ++d.others; }

constexpr mp::runner<counting_device> table[] = {
    {&mp::to_op::info, &count_collective},
    {&mp::contract_op::info, &count_product},
    {&mp::rms_norm_kind::info, &count_other},
    {&mp::rms_norm_kind::input_grad_info, &count_other},
    {&mp::rms_norm_kind::weight_grad_info, &count_other},
    {&mp::sum_op::info, &count_other},
    {&mp::accumulate_op::sum_info, &count_other},
    {&mp::accumulate_op::info, &count_other},
    {&mp::swiglu_op::info, &count_other},
    {&mp::swiglu_op::grad_info, &count_other},
    {&mp::rotary_op::info, &count_other},
    {&mp::attention_op::info, &count_other},
    {&mp::attention_op::grad_info, &count_other},
    {&mp::embedding_op::info, &count_other},
    {&mp::embedding_op::grad_info, &count_other},
    {&mp::cross_entropy_op::max_info, &count_other},
    {&mp::cross_entropy_op::sums_info, &count_other},
    {&mp::cross_entropy_op::info, &count_other},
    {&mp::cross_entropy_op::grad_info, &count_other},
};

constexpr mp::model tiny = mp::llama_like({.layers = 3, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 24, .seq = 8});
constexpr mp::model with_layer_norm = mp::gpt2_like(tiny);
constexpr mp::job one_sample{.global_batch = 1};
constexpr mp::plan tp2{.tp = 2};
using net = mp::decoder<tiny, one_sample, tp2>;
static_assert(mp::runs_on<net, counting_device, table>::ok);

// Forward and backward on two ranks; what the first one counted.
counting_device count(const mp::program& p) {
  counting_device first;
  mp::threads_world world(2);
  world.run([&](mp::threads& comm) {
    counting_device device{&comm};
    const mp::arena memory(p.memory.height);
    mp::executor<counting_device> calls(p, device, memory, comm.rank(), table);
    calls.forward();
    calls.backward();
    if (comm.rank() == 0) first = device;
  });
  return first;
}

}  // namespace

TEST_CASE("a device of a user's own runs a program: its calls are the program's records") {
  const mp::program p(tiny, one_sample, tp2, net::make_layers());
  const counting_device counted = count(p);
  CHECK(counted.products == 3 * (3 * 7) + 3);  // q, k, v, output, gate, up, down in each layer; head
  long collectives = 0, records = 0;
  for (int b = 0; b < p.block_count(); ++b)
    for (const mp::record& r : p.traced_block(p.kind_of(b)).records) {
      if (mp::needs_no_call(r)) continue;
      ++records;
      collectives += r.op == &mp::to_op::info;
    }
  CHECK(counted.collectives == collectives);
  CHECK(counted.products + counted.collectives + counted.others == records);
}

TEST_CASE("a kind that the table lacks is named, before anything runs") {
  const mp::program p(with_layer_norm, one_sample, tp2, mp::stack<>(with_layer_norm, one_sample));
  CHECK_THROWS_WITH_AS(count(p), doctest::Contains("no kernel for the operation positions"), mp::comm_error);
  const mp::operation* missing = mp::missing_kind<counting_device>(p.traced_block(mp::block_kind::attention), table);
  REQUIRE(missing != nullptr);
  CHECK(std::string_view(missing->name) == "layer_norm");
}
