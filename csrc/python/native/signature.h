// Signatures of functions that are native as a whole: the kinds of their parameters.
//
// `whole<squeeze>("squeeze")`, of `squeeze(const Operand& x, const AxesArgument& axis)`, is the
// path of a function of two parameters. Each kind reads its argument, in the order of the
// parameters, or fails with an error that names the function. Names and defaults of the parameters
// are those of the Python function.
#pragma once

#include <utility>

#include "python/native/data.h"
#include "python/native/function.h"

namespace ofl::python {

using Axes = SmallVector<int, 4>;

/// Whether an object is a collections.abc.Sequence.
bool is_any_sequence(PyObject* object);

/// A tensor, or the tensor that asarray() makes of the argument.
class Operand {
 public:
  Operand(PyObject* given, PyObject*)
      : made_(is_tensor(given) ? nullptr : as_tensor(given)),
        object_(made_.get() ? made_.get() : given) {}
  PyObject* object() const { return object_; }
  const Tensor& operator*() const { return tensor_of(object_); }
  const Tensor* operator->() const { return &tensor_of(object_); }

 private:
  Reference made_;  // null where the argument is a tensor, which the caller holds
  PyObject* object_;
};

/// An integer, a sequence of integers, or None. Which axes they are depends on an operand.
class AxesArgument {
 public:
  AxesArgument(PyObject* given, PyObject* function) : given_(given), function_(function) {}

  bool is_none() const { return given_ == Py_None; }
  /// How many axes are given.
  Py_ssize_t count() const;
  /// From 0 on; Error(axis) for one out of range, Error(value) for one that is given twice.
  Axes within(int ndim) const {
    Axes axes;
    if (const std::optional<int> axis = known_axis(given_, ndim)) {
      axes.push_back(*axis);
    } else {
      read(ndim, &axes);
    }
    return axes;
  }
  /// The one axis; Error(value) for more or fewer.
  int one_within(int ndim) const {
    const std::optional<int> axis = known_axis(given_, ndim);
    return axis ? *axis : read_one(ndim);
  }
  /// Whether x is 0-d and the axis 0 or -1, which NumPy takes for the axis of one element.
  bool is_number_along(const Tensor& x) const { return x.ndim() == 0 && is_zero_or_last(); }

 private:
  void read(int ndim, Axes* axes) const;
  int read_one(int ndim) const;
  bool is_zero_or_last() const;

  PyObject* given_;
  PyObject* function_;  // its name
};

/// An argument that the function itself reads.
struct Given {
  Given(PyObject* given, PyObject*) : object(given) {}
  operator PyObject*() const { return object; }
  PyObject* object;
};

/// Runs a function on arguments that are read from left to right, as a braced list is.
template <auto run, typename... Kinds>
struct Run {
  explicit Run(const Kinds&... read) : result(run(read...)) {}
  PyObject* result;
};

template <auto run, typename... Kinds, size_t... places>
PyObject* run_with(const Call& call, std::index_sequence<places...>) {
  return Run<run, Kinds...>{Kinds(call[places], call.name)...}.result;
}

template <auto run, typename... Kinds>
constexpr NativeRow whole_row(const char* name, PyObject* (*)(const Kinds&...)) {
  constexpr auto places = std::index_sequence_for<Kinds...>();
  return {name, [](const Call& call) { return run_with<run, Kinds...>(call, places); }, true};
}

/// Of a function that reads the call itself.
template <auto run>
constexpr NativeRow whole_row(const char* name, NativePath) {
  return {name, run, true};
}

/// The path of a function whose parameters are of the kinds that `run` takes.
template <auto run>
constexpr NativeRow whole(const char* name, PyObject* (*of_one)(PyObject*) = nullptr) {
  NativeRow row = whole_row<run>(name, run);
  row.of_one = of_one;
  return row;
}

}  // namespace ofl::python
