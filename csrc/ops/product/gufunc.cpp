// NumPy's generalized ufuncs: one typed loop for each small matrix of a batch.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>

#include "ops/array_args.h"
#include "ops/lanes.h"
#include "ops/pieces.h"
#include "ops/product/lapack.h"

namespace ofl::ops {

namespace {

/// What a failed LAPACK call says, by attr[1].
constexpr const char* kFailures[] = {
    nullptr,
    "singular matrix",
    "the matrix is not positive definite",
    "the eigenvalues did not converge",
    "the singular values did not converge",
    "the factorization got a wrong argument",
    "the least squares did not converge",
};

/// The floating-point flags of the running thread, put back at the end. Loops report a failed
/// LAPACK call by the invalid flag and do not change it otherwise.
class InvalidFlag {
 public:
  InvalidFlag() {
    std::fegetexceptflag(&saved_, FE_ALL_EXCEPT);
    std::feclearexcept(FE_INVALID);
  }
  ~InvalidFlag() { std::fesetexceptflag(&saved_, FE_ALL_EXCEPT); }
  InvalidFlag(const InvalidFlag&) = delete;
  InvalidFlag& operator=(const InvalidFlag&) = delete;

  bool raised() const { return std::fetestexcept(FE_INVALID) != 0; }

 private:
  std::fexcept_t saved_;
};

/// Matrices that one of NumPy's loops takes at once; ours take one.
constexpr int64_t kMostAtOnce = 16;

struct BatchRow {
  int64_t dim;
  std::vector<intptr_t> strides;  // of each operand of the loop
};

/// A call as NumPy's loops want it: dims and steps of the core dimensions, batch dimensions apart.
struct GufuncCall {
  std::vector<const ArrayView*> operands;
  std::vector<char*> data;      // of the first matrices
  std::vector<int> core;        // dimensions of each operand that the loop sees
  std::vector<intptr_t> dims;   // of the innermost batch row, then the core ones by their number
  std::vector<intptr_t> steps;  // core strides, operand after operand
  std::vector<BatchRow> rows;   // outermost first, merged where all operands step together
};

GufuncCall parse_call(const ArrayArgs& args) {
  GufuncCall call;
  call.dims.resize(1 + args.attr[4]);
  size_t next = 5;
  for (size_t k = args.attr[0]; k < args.operands.size(); ++k) {
    const ArrayView& x = args.operands[k];
    const auto core = static_cast<int>(args.attr[next++]);
    call.operands.push_back(&x);
    call.data.push_back(x.data);
    call.core.push_back(core);
    for (int d = x.shape.size() - core; d < x.shape.size(); ++d) {
      call.dims[1 + args.attr[next++]] = x.shape[d];
      call.steps.push_back(x.strides[d]);
    }
  }
  return call;
}

/// Step of an operand along batch dimension d of `batch`; operands are aligned at the right.
intptr_t batch_step(const ArrayView& x, int core, int d, int batch) {
  const int position = d - (batch - (x.shape.size() - core));
  return position >= 0 && x.shape[position] != 1 ? x.strides[position] : 0;
}

bool steps_together(const BatchRow& outer, const BatchRow& inner) {
  for (size_t k = 0; k < inner.strides.size(); ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.dim) return false;
  }
  return true;
}

/// The last operand is an output and has the whole batch.
void plan_batch(GufuncCall* call) {
  const ArrayView& whole = *call->operands.back();
  const int batch = whole.shape.size() - call->core.back();
  for (int d = 0; d < batch; ++d) {
    if (whole.shape[d] == 1) continue;
    BatchRow row{whole.shape[d], {}};
    for (size_t k = 0; k < call->operands.size(); ++k) {
      row.strides.push_back(batch_step(*call->operands[k], call->core[k], d, batch));
    }
    if (!call->rows.empty() && steps_together(call->rows.back(), row)) {
      row.dim *= call->rows.back().dim;
      call->rows.pop_back();
    }
    call->rows.push_back(std::move(row));
  }
  if (call->rows.empty()) call->rows.push_back({1, std::vector<intptr_t>(call->core.size(), 0)});
}

void run_call(const GufuncCall& call, const Loop& loop) {
  const size_t operands = call.operands.size();
  const BatchRow& inner = call.rows.back();
  const size_t outer = call.rows.size() - 1;
  std::vector<intptr_t> dims = call.dims, steps = inner.strides;
  dims[0] = inner.dim;
  steps.insert(steps.end(), call.steps.begin(), call.steps.end());
  std::vector<char*> pointers = call.data, given(operands);
  std::vector<int64_t> index(outer, 0);
  for (;;) {
    given = pointers;  // loops may step them
    loop.function(given.data(), dims.data(), steps.data(), loop.data);
    size_t d = outer;
    for (; d > 0; --d) {
      const BatchRow& row = call.rows[d - 1];
      const bool more = ++index[d - 1] < row.dim;
      const int64_t moved = more ? 1 : 1 - row.dim;
      for (size_t k = 0; k < operands; ++k) pointers[k] += moved * row.strides[k];
      if (more) break;
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

int64_t count_matrices(const GufuncCall& call) {
  int64_t count = 1;
  for (const BatchRow& row : call.rows) count *= row.dim;
  return count;
}

/// Divides the longest row. Pieces are multiples of what the loop takes at once, so that each
/// matrix goes through the code that it would go through otherwise.
template <typename Run>
void run_in_pieces(const ArrayArgs& args, const GufuncCall& call, double work, int64_t multiple,
                   const Run& run) {
  size_t longest = 0;
  for (size_t d = 1; d < call.rows.size(); ++d) {
    if (call.rows[d].dim > call.rows[longest].dim) longest = d;
  }
  const int64_t dim = call.rows[longest].dim;
  const int64_t steps = steps_in_piece(dim, work, multiple);
  args.helpers->parallel_for((dim + steps - 1) / steps, [&](int64_t i) {
    GufuncCall piece = call;
    BatchRow& row = piece.rows[longest];
    row.dim = std::min(steps, dim - i * steps);
    for (size_t k = 0; k < piece.data.size(); ++k) piece.data[k] += i * steps * row.strides[k];
    run(piece);
  });
}

/// NumPy's loop, or one by the library of products: NumPy's library shares matrices out to threads,
/// which go on spinning on the cores of the machine's.
Loop loop_of(const ArrayArgs& args, const GufuncCall& call, LapackCall* own) {
  own->blas = blas();
  own->helpers = args.helpers;
  if (!own->blas) return args.loop;
  int64_t elements = 0;  // of the largest matrix
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const Dims& shape = call.operands[k]->shape;
    int64_t size = 1;
    for (int d = shape.size() - call.core[k]; d < shape.size(); ++d) size *= shape[d];
    elements = std::max(elements, size);
  }
  const LoopFn loop = lapack_loop(args.loop.name, args.input(0).dtype, elements);
  return loop ? Loop{loop, own, args.loop.name} : args.loop;
}

/// LAPACK may not come back from infinities and NaNs. Of doubles, or pairs of them.
void require_finite(const char* name, const ArrayView& x) {
  const int last = x.shape.size() - 1;
  const int parts = static_cast<int>(size_of(x.dtype) / sizeof(double));
  for_each_lane({&x}, last, [&](char* const* lane) {
    for (int64_t i = 0; i < x.shape[last]; ++i) {
      const auto* value = reinterpret_cast<const double*>(lane[0] + i * x.strides[last]);
      for (int part = 0; part < parts; ++part) {
        if (std::isfinite(value[part])) continue;
        fail(ErrorKind::linear_algebra, "[", name, "] expected finite numbers, got ", value[part]);
      }
    }
  });
}

}  // namespace

void gufunc_kernel(const ArrayArgs& args) {
  GufuncCall call = parse_call(args);
  plan_batch(&call);
  const int64_t matrices = count_matrices(call);
  if (matrices == 0) return;
  if (args.attr[2]) require_finite(args.name, args.input(0));
  const char* failure = kFailures[args.attr[1]];
  std::atomic<bool> failed{false};
  LapackCall own{};
  const Loop loop = loop_of(args, call, &own);
  const auto run = [&](const GufuncCall& part) {
    if (!failure) return run_call(part, loop);
    InvalidFlag invalid;
    run_call(part, loop);
    if (invalid.raised()) failed.store(true, std::memory_order_relaxed);
  };
  const double work = static_cast<double>(matrices) * static_cast<double>(args.attr[3]);
  if (is_divisible(args.helpers, work)) {
    run_in_pieces(args, call, work, loop.data == &own ? 1 : kMostAtOnce, run);
  } else {
    run(call);
  }
  if (failed) fail(ErrorKind::linear_algebra, "[", args.name, "] ", failure);
}

}  // namespace ofl::ops
