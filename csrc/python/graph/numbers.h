// The numbers of a run of a program: those that its caller gives, and those computed from them with
// Python's arithmetic.
//
//   given ──► slots, computed in order ──► scalars, each in the dtype of its operand
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "python/errors.h"
#include "vm/dependence.h"

namespace ofl::python {

/// The exception class of a computed number that is no longer of the kind that was recorded, as a
/// power that became complex; borrowed. Made on first call.
PyObject* number_kind_error_type();

class Numbers {
 public:
  struct Term {
    int64_t slot;  // where there is no number:
    Reference number;
  };

  /// The next slot, of operands that come before it. An empty operation: the caller gives it, as
  /// all of the first ones; `name` is then what errors call it.
  void add_slot(bool is_complex, const std::string& operation, std::vector<Term> operands,
                vm::SiteId site, std::string name);

  /// How many the caller gives.
  int given() const { return given_; }
  /// The number of the scalar that has a slot's value in this dtype; `site` is of its operation.
  int scalar(int64_t slot, DType dtype, vm::SiteId site);
  /// The values of all slots: a new list. Throws as compute() does.
  PyObject* slots(const char* name, PyObject* const* given) const;
  /// All scalars. Throws what Python's arithmetic or NumPy's conversions raise.
  void compute(const char* name, PyObject* const* given, std::vector<Scalar>* scalars) const;

 private:
  using Unary = PyObject* (*)(PyObject*);
  using Binary = PyObject* (*)(PyObject*, PyObject*);
  struct Slot {
    bool is_complex;
    Unary unary;  // at most one of both
    Binary binary;
    std::vector<Term> operands;
    vm::SiteId site;
    std::string name;  // of one that is given
  };
  struct Wanted {
    int64_t slot;
    DType dtype;
    vm::SiteId site;
  };

  /// Of all slots; `held` are those of them that were computed.
  void evaluate(const char* name, PyObject* const* given, std::vector<PyObject*>* values,
                std::vector<Reference>* held) const;
  void check_slot(int64_t slot) const;
  static PyObject* call(const Slot& slot, PyObject* const* values);

  std::vector<Slot> slots_;
  std::vector<Wanted> wanted_;
  int given_ = 0;
};

}  // namespace ofl::python
