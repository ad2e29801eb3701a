// Where in the program an instruction was issued. Capture costs a look-up by (code object,
// instruction offset); file and line are worked out once for each place.
#pragma once

#include <Python.h>

#include <string>

#include "vm/dependence.h"

namespace ofl::python {

/// Of the innermost Python frame outside this package. With the GIL.
vm::SiteId capture_site();

/// Of the same frame, as a level of warnings, which count the innermost frame as 1. With the GIL.
int site_level();

struct Site {
  std::string file;
  int line = 0;
};

/// Any thread. An id that capture_site() returned; 0 gives an empty file.
Site site(vm::SiteId id);

/// The id of a place; any thread.
vm::SiteId site_named(const std::string& file, int line);

/// (file, line), or None for 0: a new reference; null with an exception. With the GIL.
PyObject* site_tuple(vm::SiteId id);

/// "file:line", or "an unknown place".
std::string format_site(vm::SiteId id);

/// Frames of files whose path starts with this are passed over.
void set_package_dir(const std::string& path);

}  // namespace ofl::python
