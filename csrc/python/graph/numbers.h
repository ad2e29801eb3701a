// The numbers of a run of a program: those that its caller gives, and those computed from them with
// Python's arithmetic.
//
//   given ──► slots, computed in order ──► scalars, each in the dtype of its operand
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "base/dtype.h"
#include "vm/dependence.h"

namespace ofl::python {

/// The exception class of a computed number that is no longer of the kind that was recorded, as a
/// power that became complex; borrowed. Made on first call.
PyObject* number_kind_error_type();

class Numbers {
 public:
  /// Rows are (is_complex, operation, operands, site). Operation None: the caller gives it, and all
  /// such rows come first. Operands are (number of a slot,) or numbers of Python.
  explicit Numbers(const pybind11::list& rows);

  /// How many the caller gives.
  int given() const { return given_; }
  /// The number of the scalar that has a slot's value in this dtype; `site` is of its operation.
  int scalar(int64_t slot, DType dtype, vm::SiteId site);
  /// All scalars. Throws what Python's arithmetic or NumPy's conversions raise.
  void compute(const char* name, PyObject* const* given, std::vector<Scalar>* scalars) const;

 private:
  using Unary = PyObject* (*)(PyObject*);
  using Binary = PyObject* (*)(PyObject*, PyObject*);
  struct Term {
    int64_t slot;  // or -1:
    pybind11::object number;
  };
  struct Slot {
    bool is_complex;
    Unary unary;  // at most one of both
    Binary binary;
    std::vector<Term> operands;
    vm::SiteId site;
  };
  struct Wanted {
    int64_t slot;
    DType dtype;
    vm::SiteId site;
  };

  void check_slot(int64_t slot) const;
  static PyObject* call(const Slot& slot, PyObject* const* values);

  std::vector<Slot> slots_;
  std::vector<Wanted> wanted_;
  int given_ = 0;
};

}  // namespace ofl::python
