// The headers of base/precompiled.h and of pybind11, for the sources that make classes with it.
#include "base/precompiled.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
