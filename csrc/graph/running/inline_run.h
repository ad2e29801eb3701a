// InlineRun: all steps of a small program on the host, one after the other in the calling thread.
// Arguments of kernels are laid out once; temporaries lie in the arena of the host, which programs
// use one after the other. A run fills in where arguments and results are, and where the arena is
// if that has moved.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "ep/memory/arena.h"
#include "graph/planning/lowered.h"
#include "tensor/issue.h"

namespace ofl::graph {

class InlineRun {
 public:
  /// Null where a step is no kernel of the host.
  static std::unique_ptr<InlineRun> make(const std::shared_ptr<const Lowered>& lowered);

  int64_t arena_bytes() const { return arena_bytes_; }
  const std::vector<int64_t>& arena_offsets() const { return arena_offsets_; }
  /// For tests: when a run begins, the arena holds this byte everywhere, so that what is read
  /// before it is written shows.
  void fill_arena(uint8_t byte);

  /// nullopt: something that it needs is not ready, or another thread runs it, or there is no
  /// memory at once. `given`: the inputs.
  std::optional<std::vector<Tensor>> run(const Issuer& issuer, const Lowered& lowered,
                                         const Tensor* const* given, const RunNumbers& numbers);

 private:
  struct Kernel {
    ops::LoopArgs* loops = nullptr;  // or:
    ops::ArrayArgs* arrays = nullptr;
    bool is_one_call = false;  // of a loop that no helper shares

    void run() const {
      if (is_one_call) return ops::call_once(*loops);
      if (loops) ops::run(*loops);
      if (arrays) ops::run(*arrays);
    }
  };
  struct Patch {
    char** address;
    int64_t offset;
  };
  struct ScalarPatch {
    Scalar* scalar;
    int32_t slot;
  };

  /// When a run that somebody watches began and ended.
  struct Watched {
    int64_t begin_ns, end_ns;
    bool is_measured;  // step by step
  };

  explicit InlineRun(const std::shared_ptr<const Lowered>& lowered);
  void plan_arena(const Lowered& lowered);
  void place(int64_t base, char* address);
  void set_words(const Lowered& lowered, const RunNumbers& numbers);
  void place_arena(char* arena);
  /// run() with the mutex and the arena.
  std::optional<std::vector<Tensor>> run_locked(const Issuer& issuer, const Lowered& lowered,
                                                const Tensor* const* given,
                                                const RunNumbers& numbers);
  bool hold(const Issuer& issuer, const Lowered& lowered, const Tensor* const* given,
            SmallVector<vm::Operand, 8>* operands);
  template <typename After>
  void run_all(const Issuer& issuer, const Lowered& lowered, vm::InlineScope& here,
               const After& after);
  bool is_time_to_measure(int64_t now) const;
  Watched run_watched(const Issuer& issuer, const Lowered& lowered, vm::InlineScope& here);
  std::optional<Error> try_run(size_t step) const;

  std::vector<std::unique_ptr<ops::LoopArgs>> loops_;
  std::vector<std::unique_ptr<ops::ArrayArgs>> arrays_;
  std::vector<Kernel> kernels_;
  std::vector<std::vector<Patch>> patches_;  // of each base
  std::vector<ScalarPatch> scalar_patches_;
  std::vector<int64_t> arena_offsets_;  // of each base; -1: it is not in the arena
  std::vector<int64_t> outside_;        // inputs that are used, and bases of results
  int64_t arena_bytes_ = 0;
  ep::Arena* arena_ = nullptr;                  // null: it needs none
  std::mutex mutex_;                            // guards the addresses, and:
  char* arena_place_ = nullptr;                 // where the addresses say that the arena is
  std::optional<uint8_t> poison_;               // see fill_arena()
  std::vector<StorageRef> storages_;            // while it runs, of outside bases
  const vm::PartTexts texts_;                   // of watched runs, and:
  std::shared_ptr<const vm::PartTimes> times_;  // of the last run that was measured step by step
};

}  // namespace ofl::graph
