// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/error.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace meshpar::inline v0 {

// Some ranks of the world, in increasing order, as one of them sees it. A value: its communicator keeps what it names.
class group {
 public:
  group() = default;
  group(std::span<const int> members, int index, int id) : members_(members), index_(index), id_(id) {}

  int size() const { return static_cast<int>(members_.size()); }
  int index() const { return index_; }  // this rank's place; roots and peers are such indices too
  std::span<const int> members() const { return members_; }
  int id() const { return id_; }  // dense, and the rank's own: two members may number one group differently

 private:
  std::span<const int> members_;
  int index_ = 0;
  int id_ = -1;
};

// The index of `rank` in a list that may name a group of a world of `size` ranks.
inline int place_in(std::span<const int> ranks, int rank, int size) {
  const std::string me = "rank " + std::to_string(rank) + ": ";
  if (std::ranges::adjacent_find(ranks, [](int a, int b) { return a >= b; }) != ranks.end() || ranks.empty() ||
      ranks.front() < 0 || ranks.back() >= size)
    throw comm_error(me + "a group is a list of ranks of the world in increasing order");
  const auto place = std::ranges::find(ranks, rank);
  if (place == ranks.end()) throw comm_error(me + "is not in the group that it asks for");
  return static_cast<int>(place - ranks.begin());
}

}  // namespace meshpar::inline v0
