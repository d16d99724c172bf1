// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/ops/tensor.hpp>
#include <meshpar/typing/placement.hpp>

#include <initializer_list>

namespace meshpar::inline v0 {

// The layout of a parameter with these dims under a plan: each dim placed as the plan says, every other axis R; I over
// the axes in `invariant`. Refuses a dim that the plan does not know or cannot split, a dim named twice, and one axis
// on two dims: a rank would hold a diagonal block, and no sum over ranks reaches the others.
constexpr judged parameter_layout(const context& plan, std::initializer_list<dim_name> names, axis_set invariant) {
  judged j;
  for (const dim_name& name : names) {
    const placed_dim* p = plan.find(name);
    if (p == nullptr) {
      text t;
      t << "no size is known for dimension " << name_of(name) << "; give the decoder mp::size<" << name_of(name) << ">";
      return {.no = {.broken = rule::dimension_missing, .why = t, .remedy = fix::give_it_a_size}};
    }
    const typing::placed d = typing::place(name, p->size, p->by, plan.ranks);
    if (!d.no.holds()) return {.no = d.no};
    if (j.out.find(name) >= 0) return {.no = typing::named_twice(name)};
    if (const axis_set both = j.out.split() & d.dim.by.axes(); !both.empty())
      return {.no = typing::split_twice(j.out, name, typing::first_of(both))};
    j.out.dims.push_back(d.dim);
  }
  j.out = with_invariant(j.out, invariant - j.out.split(), plan.ranks);
  return j;
}

template <int Plan, class Parameter, axis_set Invariant = axis_set{}>
struct parameter_check;
template <int Plan, std::uint64_t... Names, axis_set Invariant>
struct parameter_check<Plan, named_param<Names...>, Invariant> {
  static constexpr judged judgement = parameter_layout(plan_numbered<Plan>, {Names...}, Invariant);
  static constexpr verdict result = judgement.no;
  using type = typename v0::result<result.holds()>::template type<judgement.out, Plan>;
};

// What a layer's forward takes first: it turns the layer's parameters into tensors, placed as the plan says.
// r[p]: replicated wherever it is not split. r(p, x): the same, but invariant wherever x is (a norm's gain or a bias
// beside a residual stream of which every rank of tp does the same work).
//
// Values and records are numbered as forward() makes them, and C++ leaves the order of two calls in one argument list
// to the compiler (g++ takes another one at run time than in constants): a layer in which two arguments of one call
// both make values names the first before.
class traced_scope {
 public:
  constexpr explicit traced_scope(tracer& t, const char* scope = "") : on_(&t), scope_(scope) {}
  constexpr traced_scope in(const char* scope) const { return traced_scope(*on_, scope); }
  // A tensor without a value that has the layout of the residual stream: a target for to_layout_of.
  constexpr traced stream() const { return {on_, on_->make(on_->plan.stream, on_->plan.compute)}; }

  template <std::uint64_t... Names>
  constexpr traced operator[](const named_param<Names...>& p) const {
    return place(p, {});
  }
  template <std::uint64_t... Names>
  constexpr traced operator()(const named_param<Names...>& p, traced x) const {
    return place(p, x.on->refused() ? axis_set{} : x.shape().invariant);
  }

 private:
  template <std::uint64_t... Names>
  constexpr traced place(const named_param<Names...>& p, axis_set invariant) const {
    const judged j = parameter_layout(on_->plan, {Names...}, invariant);
    if (!j.holds()) on_->refuse(j.no, 0);
    return {on_, on_->use_parameter(&p, scope_, p.name, p.start, j.out)};
  }
  tracer* on_;
  const char* scope_;
};

}  // namespace meshpar::inline v0

// The same for checking: nothing is traced.
template <int P>
struct meshpar::scope {
  constexpr scope in(const char*) const { return {}; }
  constexpr auto stream() const { return tensor<enter_layout<plan_numbered<P>.stream, P>::number>{}; }

  template <class W>
  constexpr auto operator[](W) const {
    using checked = parameter_check<P, W>;
    static_assert(decltype(ruling<checked>())::ok);
    return typename checked::type{};
  }
  template <class W, class X>
  constexpr auto operator()(W, X) const {
    using checked = parameter_check<P, W, X::shape().invariant>;
    static_assert(decltype(ruling<checked>())::ok);
    return typename checked::type{};
  }
};
