// Runs: the elements of a piece that lie side by side with the sender and with the receiver. Long
// ones go from memory to memory as they are, so that nobody packs and unpacks them:
//
//   rows to columns:   of rank 0:  a b | c d        to rank 1:  c d
//                                  e f | g h                    g h      the runs: c d, g h
#pragma once

#include <vector>

#include "distributed/layouts/layout.h"
#include "tensor/tensor.h"

namespace ofl::distributed {

/// The elements of one message of a piece: a long run, or all of them. Both ranks find the same.
int64_t message_size(const Box& piece, const Box& of_sender, const Box& of_receiver, DType dtype);

/// So many elements at a time lie side by side.
bool lies_in_runs(const Tensor& x, int64_t run);
/// Then: views of them, in their order.
std::vector<Tensor> runs_of(const Tensor& x, int64_t run);

}  // namespace ofl::distributed
