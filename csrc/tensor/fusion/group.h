// What both kinds of fusion share: how an instruction joins a group, and which of the group's
// memories nobody else sees.
#pragma once

#include <vector>

#include "ops/fusion/space.h"
#include "tensor/body.h"
#include "vm/fusion/group.h"

namespace ofl {

/// The storages of a group's memories. Kernels of the group know them by number, as bases.
class GroupStorages {
 public:
  using Memory = ops::FusionSpace::Memory;

  /// The number of each operand's storage, where it may be new; -1: it has none.
  void number(const HeldStorages& held, int16_t* bases);
  int size() const { return static_cast<int>(storages_.size()); }
  /// Forgets the newest ones.
  void shrink(int size) { storages_.resize(static_cast<size_t>(size)); }
  TensorStorage& operator[](const Memory& memory) const { return *storages_[memory.base]; }

  /// Only members of the group hold it: no handle, no view, no other instruction. Then nobody else
  /// can come to hold it, either.
  bool is_held_by_group(const Memory& memory) const;
  /// Nor has it memory by now: nobody sees it before or after the group.
  bool is_unseen(const Memory& memory) const;
  /// Where each begins; null: it has no memory by now.
  std::vector<char*> bases() const;

 private:
  std::vector<TensorStorage*> storages_;
};

/// Instructions that run as one; `Kernels` holds their kernels and is a FusionSpace.
template <typename Kernels>
class Fusion : public vm::Group {
 public:
  bool add(vm::Slot* slot) final {
    if (slot->header.type != &kLoopType) return false;
    const auto& body = *reinterpret_cast<const LoopBody*>(slot->body);
    const int known = storages_.size();
    int16_t bases[ops::kMaxOperands];
    storages_.number(body.held, bases);
    const bool may_join = known == 0 || is_worth_joining(body.call.args, bases, known);
    if (may_join && group_.add(body.call.args, bases)) return true;
    storages_.shrink(known);
    return false;
  }
  bool full() const final { return group_.full(); }
  Savings savings() const final { return savings_; }

 protected:
  using Memory = ops::FusionSpace::Memory;

  /// Which memories are in memory by now, and which never will be.
  void find_bases() {
    bases_ = storages_.bases();
    group_.leave_out([this](const Memory& memory) { return storages_.is_unseen(memory); });
    for (const Memory& memory : group_.memories()) {
      if (memory.unseen) note_saved(storages_[memory]);
    }
  }
  /// It will be, and is not yet.
  bool needs_memory(const Memory& memory) const { return !memory.unseen && !bases_[memory.base]; }

  Kernels group_;
  GroupStorages storages_;
  std::vector<char*> bases_;  // where memories begin
  Savings savings_;
  std::vector<TensorStorage*> allocated_;

 private:
  /// `known`: storages of the group so far.
  virtual bool is_worth_joining(const ops::LoopArgs& args, const int16_t* bases, int known) const {
    (void)args, (void)bases, (void)known;
    return true;
  }

  void note_saved(const TensorStorage& storage) {
    ++savings_.results;
    savings_.bytes += static_cast<int64_t>(storage.bytes());
  }
};

}  // namespace ofl
