// Two runs of a kernel, each on its own copy of the memory that it can reach: if they do not leave
// the same, the result depends on the order in which threads take their turns.
#pragma once

#include <memory>
#include <vector>

#include "driver/parameters.h"

namespace simcuda {

class Rehearsal {
 public:
  static constexpr int kRuns = 2;

  /// nullptr where there is too much memory to copy.
  static std::unique_ptr<Rehearsal> of(const Arguments& arguments);

  /// The arguments of one run, which point into its copies.
  Arguments& arguments(int run) { return arguments_[run]; }
  bool agrees() const;
  /// Writes what the runs have changed to the memory itself, and nothing else: other streams may
  /// write to other parts of the same blocks.
  void publish() const;

 private:
  struct Copy {
    std::shared_ptr<Block> block;
    std::vector<char> before;
    std::vector<char> buffers[kRuns];
    char* begin[kRuns];  // in the buffer, with the block's alignment
  };
  explicit Rehearsal(const Arguments& arguments);
  const Copy& copy_of(const std::shared_ptr<Block>& block);

  Arguments arguments_[kRuns];
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace simcuda
