// Values that share memory, and who uses it.
#pragma once

#include "graph/order/dependences.h"

namespace ofl::graph {

/// Whose a value's memory is. A class of values has the highest kind of its members.
enum class ValueKind : uint8_t {
  temporary,  // made and used up inside
  result,     // handed out
  given,      // a feed, a variable, a constant
};

inline constexpr const char* kValueKindNames[] = {"temporary", "result", "given"};
inline constexpr int64_t kValueKindCount = sizeof(kValueKindNames) / sizeof(kValueKindNames[0]);

/// What is known of each value; the arrays are as long as there are values.
struct Values {
  Integers classes;  // values of one number share memory; numbers are below the number of values
  std::vector<ValueKind> kinds;
  Integers places;  // equal numbers: the same offset in its memory, shape and strides

  int64_t count() const { return static_cast<int64_t>(classes.size()); }
};

/// Sets that grow together: which values share memory.
class Classes {
 public:
  /// Each value alone.
  explicit Classes(int64_t values);
  /// Together where the numbers are equal.
  explicit Classes(const Integers& classes);

  /// The member that stands for the class of a value.
  int64_t of(int64_t value) const;
  /// The first class takes the second in; what stands for the first stands for both.
  void join(int64_t value, int64_t other);
  /// The classes by numbers from 0 on, in the order of their first members.
  Integers numbers() const;

 private:
  mutable Integers parent_;
};

/// The class of each value where pairs of values share memory; classes are numbered from 0.
Integers alias_classes(int64_t values, const std::vector<std::pair<int64_t, int64_t>>& pairs);

/// The operations that read or write the data of each class of values, sorted.
Rows class_users(const Accesses& accesses, const Integers& classes);

// --- Checks of what is given.
void check_accesses(const char* op, const Accesses& accesses, int64_t values);
void check_classes(const char* op, const Integers& classes);
void check_values(const char* op, const Values& values);

}  // namespace ofl::graph
