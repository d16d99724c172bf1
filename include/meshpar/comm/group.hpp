// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>

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

}  // namespace meshpar::inline v0
