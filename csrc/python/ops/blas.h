// The BLAS library, loaded when the first product is issued.
#pragma once

namespace ofl::python {

/// Has the library loaded, where that was not tried yet. With the GIL.
void look_for_blas();

}  // namespace ofl::python
