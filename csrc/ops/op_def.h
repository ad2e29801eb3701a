// One row of the op table. Rows come from Python (oneflow_lite/ops); NumPy's inner loops are the
// kernels of the elementwise ones. Nothing here knows Python or NumPy headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "ops/pattern.h"

namespace ofl::ops {

/// NumPy's PyUFuncGenericFunction.
using LoopFn = void (*)(char** args, const intptr_t* dims, const intptr_t* steps, void* data);
/// A loop and what it is called with.
struct CalledLoop {
  LoopFn loop;
  void* data;
};
/// What a loop makes of one element; `out` may be an input.
using ElementFn = void (*)(char* const* in, char* out);

inline constexpr int kMaxInputs = 3;
inline constexpr int kMaxOperands = kMaxInputs + 1;

/// Functions of floats that loops of our own compute where these have NumPy's bits; see
/// elementwise/float_functions/.
enum class FloatFunction : uint8_t {
  exp,
  log,
  tanh,
  sin,
  cos,
  exp2,
  log2,
  pow,
  expm1,
  log1p,
  atan,
  cbrt,
  sinh,
  atanh,
  log10,
  cosh,
  tan,
  asin,
  acos,
  asinh,
  acosh,
  none
};
inline constexpr int kFloatFunctions = static_cast<int>(FloatFunction::none);

/// Operations of floats and integers that have loops of our own; those from `less` on give truths.
/// See elementwise/arithmetic/.
enum class Arithmetic : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  sqrt,
  square,
  reciprocal,
  negative,
  absolute,
  floor,
  ceil,
  trunc,
  rint,
  maximum,
  minimum,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  invert,
  less,
  less_equal,
  equal,
  not_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  none
};
inline constexpr int kArithmetics = static_cast<int>(Arithmetic::none);

/// The parts of a float, or of the quotient of two numbers, that have loops of our own; see
/// elementwise/parts/.
enum class Part : uint8_t { fraction, whole, mantissa, exponent, scaled, quotient, rest, none };

/// What an op does for one combination of operand types: the loop, and the dtypes it wants. Those
/// of the operation are others where the loop computes in a wider one: bfloat16 in float32.
struct Resolution {
  LoopFn loop;
  void* data;
  DType in[kMaxInputs];
  DType out;
  DType operand[kMaxInputs];       // what operands promote to, and Python's numbers are rounded to
  DType result;                    // of what is made
  double cost = 1;                 // of one element, measured: see loop_cost.h
  ElementFn element = nullptr;     // for one element instead of the loop; may be null
  uint8_t codes[kMaxInputs] = {};  // the operand types (TypeCode) that it is for
  bool standard_values = false;    // the loop makes the standard's, where NumPy has others
};

/// What is known of the loops of one row; see elementwise/known_loops.h.
struct KnownLoops {
  const char* row = "";
  /// What the loop of a dtype does with one element; null: no such function.
  ElementFn (*element)(DType) = nullptr;
  /// The loop to use where the standard's special values are wanted, by the dtype of the result;
  /// its data is the Resolution of NumPy's loop. Null: the values are NumPy's.
  LoopFn (*standard)(DType) = nullptr;
  LoopFn bfloat16 = nullptr;  // takes and gives bfloat16; null: computed in float32
  FloatFunction own = FloatFunction::none;
  Arithmetic arithmetic = Arithmetic::none;
  Part part = Part::none;
};

/// Operand types of a resolution: a dtype, or a Python scalar, which is weak.
using TypeCode = uint8_t;
inline constexpr TypeCode kWeakInt = kDTypeCount;
inline constexpr TypeCode kWeakFloat = kDTypeCount + 1;
inline constexpr TypeCode kWeakComplex = kDTypeCount + 2;
inline constexpr int kTypeCodeCount = kDTypeCount + 3;
inline constexpr TypeCode code_of(DType dtype) { return static_cast<TypeCode>(dtype); }

class OpDef {
 public:
  OpDef(std::string name, const KnownLoops& loops, int nin)
      : name(std::move(name)), loops(loops), nin(nin) {
    for (int i = 0; i < nin; ++i) entries_ *= kTypeCodeCount;
    table_ = make_table();
  }

  const std::string name;
  const KnownLoops& loops;
  const int nin;
  // The columns of the row, as Python has them in Properties (oneflow_lite/ops/table.py).
  Pattern pattern = Pattern::opaque;
  Effect effect = Effect::none;
  Linear linear = Linear::none;
  uint8_t reads = 0;         // bit k: the values of operand k; without it only its shape and dtype
  uint8_t reuses = 0;        // bit k: the result may take the memory of operand k, where it fits
  bool associative = false;  // any grouping gives the same, but for rounding
  bool adds = false;         // the loops add, pairwise when they reduce
  bool selects = false;      // the loops reduce to one of the elements, in whichever order they go
  bool exact = false;        // IEEE 754 says what the result is, whichever loop computes it
  bool by_lanes = false;     // which of -0 and 0 wins depends on where in a loop's vectors they are
  bool checks_exponent = false;  // integer power: the loop must not see a negative exponent
  bool standard_values = false;  // see standard_values.h; set_standard_values() changes it

  /// Of matrices.
  bool is_product() const { return pattern == Pattern::out_fusable; }
  bool is_reduction() const { return pattern == Pattern::reduction; }

  /// The cached resolution, or nullptr when these operand types were not seen yet.
  const Resolution* find(const TypeCode* codes) const {
    return table_[index(codes)].load(std::memory_order_acquire);
  }
  /// Caches a resolution; the first one for given codes stays.
  const Resolution* add(const TypeCode* codes, const Resolution& resolution) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Resolution* known = find(codes);
    if (known) return known;
    rows_.push_back(std::make_unique<Resolution>(resolution));
    for (int k = 0; k < nin; ++k) rows_.back()->codes[k] = codes[k];
    table_[index(codes)].store(rows_.back().get(), std::memory_order_release);
    return rows_.back().get();
  }
  /// Chooses between two sets of cached resolutions. No other thread may look for one meanwhile.
  void set_standard_values(bool on) {
    if (on == standard_values) return;
    standard_values = on;
    table_.swap(other_table_);
    if (!table_) table_ = make_table();
  }

 private:
  using Table = std::unique_ptr<std::atomic<const Resolution*>[]>;

  Table make_table() const {
    Table table = std::make_unique<std::atomic<const Resolution*>[]>(entries_);
    for (size_t i = 0; i < entries_; ++i) table[i].store(nullptr, std::memory_order_relaxed);
    return table;
  }
  size_t index(const TypeCode* codes) const {
    size_t i = 0;
    for (int k = 0; k < nin; ++k) i = i * kTypeCodeCount + codes[k];
    return i;
  }

  size_t entries_ = 1;
  Table table_, other_table_;
  std::mutex mutex_;  // guards rows_ and writes to table_
  std::vector<std::unique_ptr<Resolution>> rows_;
};

}  // namespace ofl::ops
