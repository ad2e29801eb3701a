// Dtypes of tensors as NumPy's objects, and back. All with the GIL; failures throw.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// What bfloat16 is without the package that gives NumPy its dtype.
inline constexpr const char* kNoBFloat16 =
    "bfloat16 needs the package ml_dtypes: pip install \"oneflow_lite[bfloat16]\"";
/// The dtype that ml_dtypes has for bfloat16; before this there is none.
void set_bfloat16(PyArray_Descr* descr);

/// np.dtype of a DType, and back; the latter throws Error(type) `[op] unsupported dtype ...`.
PyArray_Descr* descr_of(DType dtype);       // borrowed; Error(type) where bfloat16 has none
PyArray_Descr* descr_or_null(DType dtype);  // borrowed
DType dtype_of(PyArray_Descr* descr, const char* op);
/// Of a supported np.dtype, its scalar type or name, or one of Python's bool, int, float, complex.
std::optional<DType> known_dtype(PyObject* object);
/// Of whatever NumPy takes for a supported dtype, of any byte order. Error(type) for all else names
/// what `object` is called, or shows it.
DType parse_dtype(PyObject* object, const char* op);

}  // namespace ofl::python
