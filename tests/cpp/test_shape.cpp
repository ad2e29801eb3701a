// base/shape against hand-written cases.
#include "base/shape.h"

#include "check.h"

namespace ofl {
namespace {

void test_shape_counts() {
  CHECK(count_elements({2, 3}, 8, "op") == 6);
  CHECK(count_elements({}, 8, "op") == 1);
  CHECK(count_elements({5, 0}, 8, "op") == 0);
  CHECK_ERROR(value, "[zeros] negative dimension -1 in shape (2, -1)",
              count_elements({2, -1}, 4, "zeros"));
  const int64_t big = int64_t{1} << 31;
  CHECK(count_elements({big, big}, 1, "op") == big * big);
  CHECK_ERROR(value, "[zeros] shape (", count_elements({big, big}, 2, "zeros"));
  CHECK_ERROR(value, "too big", count_elements({big, big, 0}, 2, "zeros"));
  CHECK(shape_str({}) == "()" && shape_str({4}) == "(4,)" && shape_str({2, 3}) == "(2, 3)");
  CHECK(contiguous_strides({2, 3, 4}, 8) == Dims({96, 32, 8}));
  CHECK(contiguous_strides({2, 0, 4}, 8) == Dims({32, 32, 8}));
  CHECK(is_contiguous({2, 3}, {24, 8}, 8) && !is_contiguous({2, 3}, {8, 16}, 8));
  CHECK(is_contiguous({1, 3}, {999, 8}, 8) && is_contiguous({0, 3}, {1, 1}, 8));
  CHECK(is_contiguous({}, {}, 8) && !is_contiguous({3}, {0}, 8) && !is_contiguous({3}, {-8}, 8));
}

void test_broadcast() {
  CHECK(broadcast_shapes({2, 1, 4}, {3, 1}, "add") == Dims({2, 3, 4}));
  CHECK(broadcast_shapes({}, {3}, "add") == Dims({3}));
  CHECK(broadcast_shapes({1}, {0}, "add") == Dims({0}));
  CHECK_ERROR(value, "[add] shapes (2, 3) and (4,) do not broadcast",
              broadcast_shapes({2, 3}, {4}, "add"));
  CHECK_ERROR(value, "shapes (0,) and (2,)", broadcast_shapes({0}, {2}, "add"));
  CHECK(broadcast_strides({3, 1}, {8, 8}, {2, 3, 4}, "op") == Dims({0, 8, 0}));
  CHECK(broadcast_strides({3}, {-8}, {3}, "op") == Dims({-8}));
  CHECK(broadcast_strides({}, {}, {2, 2}, "op") == Dims({0, 0}));
  CHECK_ERROR(value, "[op] shape (3,) does not broadcast to (2, 4)",
              broadcast_strides({3}, {8}, {2, 4}, "op"));
  CHECK_ERROR(value, "does not broadcast", broadcast_strides({2, 3}, {24, 8}, {3}, "op"));
}

bool reshapes_to(const Dims& shape, const Dims& strides, const Dims& target, const Dims& expected) {
  Dims out;
  return reshape_strides(shape, strides, target, 8, &out) && out == expected;
}

void test_reshape_and_ranges() {
  CHECK(reshapes_to({2, 3}, {24, 8}, {6}, {8}));
  CHECK(reshapes_to({6}, {16}, {2, 3}, {48, 16}));  // a[::2]
  CHECK(reshapes_to({6}, {-8}, {3, 1, 2}, {-16, -16, -8}) ||
        reshapes_to({6}, {-8}, {3, 1, 2}, {-16, -8, -8}));  // size 1: any stride
  CHECK(reshapes_to({4, 1, 3}, {48, 7, 8}, {2, 2, 3}, {96, 48, 8}));
  CHECK(reshapes_to({1, 1}, {3, 5}, {}, {}));
  CHECK(reshapes_to({2, 6}, {100, 8}, {2, 2, 3}, {100, 24, 8}));
  CHECK(reshapes_to({3, 2}, {0, 0}, {6}, {0}));
  CHECK(reshapes_to({0, 5}, {1, 1}, {5, 0}, {8, 8}));
  Dims out;
  CHECK(!reshape_strides({2, 3}, {8, 16}, {6}, 8, &out));      // a transpose
  CHECK(!reshape_strides({2, 6}, {100, 8}, {4, 3}, 8, &out));  // padded rows
  CHECK(!reshape_strides({3, 2}, {0, 8}, {6}, 8, &out));       // a broadcast
  const Extent extent = extent_of({2, 3}, {24, -8}, 8);
  CHECK(extent.low == -16 && extent.high == 32);
  const Extent nothing = extent_of({0, 3}, {24, 8}, 8);
  CHECK(nothing.low == 0 && nothing.high == 0);
  CHECK(!may_self_overlap({2, 3}, {8, 16}, 8) && !may_self_overlap({2, 3}, {-24, 8}, 8));
  CHECK(may_self_overlap({2, 3}, {0, 8}, 8) && !may_self_overlap({1, 3}, {0, 8}, 8));
  CHECK(may_self_overlap({3, 3}, {8, 8}, 8) && may_self_overlap({4}, {4}, 8));
  CHECK(!may_self_overlap({0, 3}, {0, 0}, 8));
}

}  // namespace
}  // namespace ofl

int main() {
  ofl::test_shape_counts();
  ofl::test_broadcast();
  ofl::test_reshape_and_ranges();
  return ofl::report();
}
