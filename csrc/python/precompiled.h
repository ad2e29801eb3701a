// What base/precompiled.h is, for the sources that make classes with pybind11.
#include "base/precompiled.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
