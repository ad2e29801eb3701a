// Why one value may or may not lie in the memory of another one.
#pragma once

#include <cstdint>

namespace ofl::graph {

enum class Reason : uint8_t {
  allowed,
  has_memory,
  given,
  is_result,
  not_read,
  not_elementwise,
  at_another_place,
  other_item_size,
  broadcast,
  taken,
  several_uses,
  used_later,
  read_since,
  made_later,
  unordered,
};

struct ReasonRow {
  const char* name;
  const char* text;
};

inline constexpr ReasonRow kReasons[] = {
    {"allowed", "the value lies in the other one's memory"},
    {"has_memory", "the value has its memory already"},
    {"given", "the memory belongs to a feed, a variable or a constant"},
    {"is_result", "the memory holds a result that is handed out"},
    {"not_read", "the operation does not read the operand's data"},
    {"not_elementwise", "the operation is not elementwise in the operand"},
    {"at_another_place", "the two values lie differently: another offset, shape or strides"},
    {"other_item_size", "the two values have items of different sizes"},
    {"broadcast", "the operand is broadcast: it has another number of elements than the result"},
    {"taken", "another result of the operation lies there"},
    {"several_uses", "the value has other uses"},
    {"used_later", "the memory is used after the operation"},
    {"read_since", "the old value is used when or after the new one begins to be written"},
    {"made_later", "the accumulator is made after the product"},
    {"unordered", "a use of the memory on another lane may still run"},
};

}  // namespace ofl::graph
