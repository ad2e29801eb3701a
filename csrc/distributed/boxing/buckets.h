// Buckets: many small tensors go from rank to rank as one.
//
//   list of tensors:   a b | c d e | F | g     F is large, and goes by itself
//                      ────  ─────       ─     buckets, each copied into one tensor;
//   results:           views of what comes back
#pragma once

#include <vector>

#include "distributed/boxing/boxing.h"

namespace ofl::distributed {

constexpr int64_t kBucketBytes = 4 << 20;

/// Bytes of the part at the first place, which is the largest: the same number on all ranks.
int64_t bytes_of(const Layout& layout, DType dtype);

/// A tensor of a list. Those of one kind fit into one bucket; a negative kind goes by itself.
struct BucketItem {
  int kind;
  int64_t bytes;  // the same number on all ranks
};

/// The positions of tensors that go together. They depend on the list alone, so all ranks have the
/// same. A bucket comes where it is full; those that are not come last, in the order of their first
/// tensors.
std::vector<std::vector<size_t>> buckets_of(const std::vector<BucketItem>& items);

/// Tensors of one dtype and device, row-major and one behind the other in one dimension.
Tensor packed(const Issuer& issuer, const std::vector<Tensor>& parts);
/// Views of it, of the shapes of the tensors that it was packed of.
std::vector<Tensor> unpacked(const Tensor& whole, const std::vector<Tensor>& parts);

/// A tensor that gets another layout.
struct Change {
  const Layout* from;
  const Layout* to;
  Device home;  // this rank's device in the new placement
  Part part;
};

/// box() of each, with the same bits. Partial values that are made whole along the same axes of the
/// grid share collectives, in buckets; such results are views of the memory of their bucket.
std::vector<Part> box_all(const Issuer& issuer, Member& member, const std::vector<Change>& changes);

}  // namespace ofl::distributed
