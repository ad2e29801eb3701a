// Copies of images between layouts: channels one after the other, or in blocks of 16.
#pragma once

#include "ops/array_args.h"
#include "ops/loop_args.h"

namespace ofl::ops {

/// The copy that the call is. Error(value) where the two are not one set of images.
LoopArgs copy_of_layout(const ArrayArgs& args);

}  // namespace ofl::ops
