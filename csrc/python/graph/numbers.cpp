#include "python/graph/numbers.h"

#include <cstring>

#include "python/convert.h"
#include "python/issue_site.h"

namespace ofl::python {

namespace {

PyObject* power(PyObject* base, PyObject* exponent) {
  return PyNumber_Power(base, exponent, Py_None);
}

struct UnaryRow {
  const char* name;
  PyObject* (*function)(PyObject*);
};
constexpr UnaryRow kUnary[] = {
    {"neg", PyNumber_Negative}, {"pos", PyNumber_Positive}, {"abs", PyNumber_Absolute}};

struct BinaryRow {
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
};
constexpr BinaryRow kBinary[] = {{"add", PyNumber_Add},
                                 {"sub", PyNumber_Subtract},
                                 {"mul", PyNumber_Multiply},
                                 {"truediv", PyNumber_TrueDivide},
                                 {"floordiv", PyNumber_FloorDivide},
                                 {"mod", PyNumber_Remainder},
                                 {"pow", power}};

template <typename Row, size_t count>
auto function_named(const Row (&rows)[count], const std::string& name)
    -> decltype(rows[0].function) {
  for (const Row& row : rows) {
    if (name == row.name) return row.function;
  }
  return nullptr;
}

bool is_of_kind(PyObject* number, bool is_complex) {
  return is_complex ? PyComplex_CheckExact(number) : PyFloat_CheckExact(number);
}

const char* kind_name(bool is_complex) { return is_complex ? "complex" : "float"; }

/// The pending exception gets a note with the line, where this Python knows notes.
void note_site(vm::SiteId site) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const std::string note = concat("recorded at ", format_site(site));
  Py_XDECREF(PyObject_CallMethod(value, "add_note", "s", note.c_str()));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

[[noreturn]] void refuse_kind(const char* name, PyObject* number, bool is_complex,
                              vm::SiteId site) {
  PyErr_Format(number_kind_error_type(), "[%s] a number became %s, recorded as %s (%s)", name,
               Py_TYPE(number)->tp_name, kind_name(is_complex), format_site(site).c_str());
  throw PythonErrorSet{};
}

}  // namespace

PyObject* number_kind_error_type() {
  static PyObject* const type = checked(PyErr_NewExceptionWithDoc(
      "oneflow_lite._C.NumberKindError",
      "A number that a program computes is of another kind than when it was recorded.",
      PyExc_TypeError, nullptr));
  return type;
}

void Numbers::add_slot(bool is_complex, const std::string& operation, std::vector<Term> operands,
                       vm::SiteId site, std::string name) {
  for (const Term& term : operands) {
    if (!term.number.get()) check_slot(term.slot);
  }
  Slot slot{is_complex, nullptr, nullptr, std::move(operands), site, std::move(name)};
  if (operation.empty()) {
    ++given_;
  } else {
    slot.unary = slot.operands.size() == 1 ? function_named(kUnary, operation) : nullptr;
    slot.binary = slot.operands.size() == 2 ? function_named(kBinary, operation) : nullptr;
    if (!slot.unary && !slot.binary) {
      fail(ErrorKind::value, "[numbers] there is no arithmetic ", operation, " of ",
           slot.operands.size(), " numbers");
    }
  }
  slots_.push_back(std::move(slot));
}

void Numbers::check_slot(int64_t slot) const {
  if (slot >= 0 && slot < static_cast<int64_t>(slots_.size())) return;
  fail(ErrorKind::value, "[numbers] there is no slot ", slot);
}

int Numbers::scalar(int64_t slot, DType dtype, vm::SiteId site) {
  check_slot(slot);
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i].slot == slot && wanted_[i].dtype == dtype) return static_cast<int>(i);
  }
  wanted_.push_back({slot, dtype, site});
  return static_cast<int>(wanted_.size()) - 1;
}

PyObject* Numbers::call(const Slot& slot, PyObject* const* values) {
  PyObject* operands[2] = {};
  for (size_t k = 0; k < slot.operands.size(); ++k) {
    const Term& term = slot.operands[k];
    operands[k] = term.number.get() ? term.number.get() : values[term.slot];
  }
  PyObject* const made =
      slot.unary ? slot.unary(operands[0]) : slot.binary(operands[0], operands[1]);
  if (made) return made;
  note_site(slot.site);
  throw PythonErrorSet{};
}

void Numbers::evaluate(const char* name, PyObject* const* given, std::vector<PyObject*>* all,
                       std::vector<Reference>* held) const {
  std::vector<PyObject*>& values = *all;
  values.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    const bool is_given = !slot.unary && !slot.binary;
    if (is_given) {
      PyObject* const number = given[values.size()];
      if (!is_of_kind(number, slot.is_complex)) {
        fail(ErrorKind::type, "[", name, "] number ", slot.name, ": expected a ",
             kind_name(slot.is_complex), ", got ", Py_TYPE(number)->tp_name);
      }
      values.push_back(number);
      continue;
    }
    held->emplace_back(call(slot, values.data()));
    values.push_back(held->back().get());
    if (!is_of_kind(values.back(), slot.is_complex)) {
      refuse_kind(name, values.back(), slot.is_complex, slot.site);
    }
  }
}

PyObject* Numbers::slots(const char* name, PyObject* const* given) const {
  std::vector<PyObject*> values;
  std::vector<Reference> held;
  evaluate(name, given, &values, &held);
  PyObject* const list = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(values[i]));
  }
  return list;
}

void Numbers::compute(const char* name, PyObject* const* given,
                      std::vector<Scalar>* scalars) const {
  std::vector<PyObject*> values;
  std::vector<Reference> held;
  evaluate(name, given, &values, &held);
  scalars->reserve(wanted_.size());
  for (const Wanted& wanted : wanted_) {
    try {
      scalars->push_back(to_scalar(values[wanted.slot], wanted.dtype));
    } catch (const PythonErrorSet&) {
      note_site(wanted.site);
      throw;
    }
  }
}

}  // namespace ofl::python
