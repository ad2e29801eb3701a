// Which kind of group an instruction begins.
#pragma once

#include <memory>

#include "vm/fusion/group.h"

namespace ofl {

/// The group of a stream's device that begins with this kernel; null where it runs by itself.
std::unique_ptr<vm::Group> begin_group(vm::Slot* slot);

}  // namespace ofl
