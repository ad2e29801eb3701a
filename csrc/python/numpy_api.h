// NumPy's C API, imported once (in module.cpp).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_3_API_VERSION
#define NPY_TARGET_VERSION NPY_2_3_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL oneflow_lite_array_api
#define PY_UFUNC_UNIQUE_SYMBOL oneflow_lite_ufunc_api
#ifndef OFL_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
