// Products of matrices on a device, and how those by kernels of our own are divided.
#include <algorithm>
#include <cstdlib>

#include "ops/cuda/layout/product.h"
#include "ops/cuda/product/product.h"
#include "ops/cuda/programs.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 30;
constexpr size_t kMostPartial = size_t{256} << 20;  // bytes

using layout::kOfA;
using layout::kOfB;
using layout::kOfOut;
using layout::kProductThreads;
using layout::kWarp;
using layout::ProductArgs;

/// How a block and its threads divide a tile of the result; the template's numbers.
struct Tile {
  int rows, columns;
  int depth;  // of a slice: what is summed at a time
  int own_rows, own_columns;
  double speed;  // against the best one where it fits: by how often what is loaded is used
};

/// By the bytes of a factor, the fastest first.
constexpr Tile kTiles[3][3] = {
    {{128, 128, 16, 8, 8, 1}, {64, 64, 16, 4, 4, 0.75}, {32, 32, 32, 4, 2, 0.45}},
    {{128, 64, 8, 8, 4, 1}, {64, 64, 16, 4, 4, 0.9}, {32, 32, 16, 4, 2, 0.5}},
    {{64, 64, 8, 4, 4, 1}, {32, 32, 8, 4, 2, 0.6}, {32, 32, 8, 4, 2, 0.6}},
};

/// A tile by tensor cores: warps, and what each makes.
struct TensorTile {
  int warps_down, warps_across, rows, columns;
  double speed;
};
constexpr TensorTile kTensorTiles[] = {{2, 4, 64, 32, 1}, {2, 2, 32, 32, 0.6}};

/// How a product is divided into blocks.
struct Partition {
  int64_t blocks;  // at a time; they take more than one each where there are more
  int64_t splits, part;
  int choice;  // number of the tile
};

enum class Form : uint8_t { tiled, tensor, rows, columns, merge };
constexpr const char* kForms[] = {"tiled", "tensor", "rows", "columns", "merge"};

/// What calls that share a kernel have in common; compared as bytes.
struct Key {
  DType dtype;
  Form form;
  uint8_t choice, a_along_k, b_along_k;
};

int factor_bytes(DType dtype) { return std::max<int>(4, static_cast<int>(size_of(dtype))); }

const Tile* tiles_of(DType dtype) {
  const int bytes = factor_bytes(dtype);
  return kTiles[bytes == 4 ? 0 : bytes == 8 ? 1 : 2];
}

/// Of what is summed: complex numbers are summed in four parts.
size_t sum_bytes(DType dtype) {
  const bool is_complex = info(dtype).kind == DTypeKind::complex;
  return static_cast<size_t>(factor_bytes(dtype)) * (is_complex ? 2 : 1);
}

bool has_tensor_cores(ep::Device& device) {
  constexpr int kFirst = 80, kPrefix = 3;  // sm_80
  const std::string architecture = device.architecture();
  return architecture.size() > kPrefix && std::atoi(architecture.c_str() + kPrefix) >= kFirst;
}

int64_t divided(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Cuts the sum where the result alone does not keep the device busy. Depends on sizes and on the
/// device, so that the bits are those of every run.
void cut_sum(const BatchedProduct& plan, int64_t items, int64_t wanted, int64_t least,
             int64_t multiple, Partition* partition) {
  const int64_t k = plan.first.k();
  const double partial = static_cast<double>(plan.count()) * static_cast<double>(plan.first.m()) *
                         static_cast<double>(plan.first.n()) *
                         static_cast<double>(sum_bytes(plan.first.out.dtype));
  int64_t splits = std::min(wanted / std::max<int64_t>(items, 1), k / least);
  splits = std::min(splits, static_cast<int64_t>(static_cast<double>(kMostPartial) / partial));
  splits = std::max<int64_t>(splits, 1);
  partition->part = std::max(divided(divided(k, splits), multiple) * multiple, multiple);
  partition->splits = std::max<int64_t>(divided(k, partition->part), 1);
}

/// What a tile of this size makes of the product; `*cost`: how long that takes, in some unit.
Partition divide(ep::Device& device, const BatchedProduct& plan, int rows, int columns, int depth,
                 double speed, double* cost) {
  constexpr int kBlocksAtATime = 2, kLeastSlices = 8;
  const int64_t processors = device.multiprocessors();
  Partition partition{};
  const int64_t tiles =
      divided(plan.first.m(), rows) * divided(plan.first.n(), columns) * plan.count();
  cut_sum(plan, tiles, processors * kBlocksAtATime, int64_t{kLeastSlices} * depth, depth,
          &partition);
  const int64_t all = tiles * partition.splits;
  partition.blocks = std::min(all, kMostBlocks);
  *cost = static_cast<double>(divided(all, processors)) * rows * columns *
          static_cast<double>(partition.part) / speed;
  return partition;
}

Partition divide_tiled(ep::Device& device, const BatchedProduct& plan, bool tensor) {
  Partition best{};
  double least = 0;
  const int choices = tensor ? 2 : 3;
  for (int choice = 0; choice < choices; ++choice) {
    double cost = 0;
    const Tile& plain = tiles_of(plan.first.out.dtype)[choice];
    const TensorTile& cores = kTensorTiles[tensor ? choice : 0];
    Partition partition =
        tensor
            ? divide(device, plan, cores.warps_down * cores.rows,
                     cores.warps_across * cores.columns, layout::kProductDepth, cores.speed, &cost)
            : divide(device, plan, plain.rows, plain.columns, plain.depth, plain.speed, &cost);
    partition.choice = choice;
    if (choice == 0 || cost < least) best = partition;
    least = choice == 0 ? cost : std::min(least, cost);
  }
  return best;
}

/// Of a product with a vector: a warp for each row, or a block for 32 of them.
Partition divide_vector(ep::Device& device, const BatchedProduct& plan, Form form) {
  constexpr int64_t kBlocksAtATime = 4, kLeastTerms = 1024, kMultiple = 256;
  const int64_t in_block = form == Form::rows ? kProductThreads / kWarp : kWarp;
  const int64_t wanted = device.multiprocessors() * kBlocksAtATime;
  Partition partition{};
  const int64_t blocks = divided(plan.first.m() * plan.count(), in_block);
  // A block of few rows takes more parts: as many as it has warps.
  const int64_t idle = std::max<int64_t>(in_block / (plan.first.m() * plan.count()), 1);
  cut_sum(plan, blocks, form == Form::rows ? wanted * idle : wanted, kLeastTerms, kMultiple,
          &partition);
  const int64_t items = form == Form::rows
                            ? divided(plan.first.m() * plan.count() * partition.splits, in_block)
                            : divided(plan.first.m(), kWarp) * plan.count() * partition.splits;
  partition.blocks = std::min(items, form == Form::rows ? wanted * 4 : kMostBlocks);
  return partition;
}

bool is_along_k(int64_t k_step, int64_t other_step) {
  return std::abs(k_step) <= std::abs(other_step);
}

/// Whether 16 bytes can be loaded at once along what is contiguous, `other` steps apart.
bool has_vectors(const Matrix& x, int64_t along, int64_t other, int64_t lines,
                 const BatchedProduct& plan, int64_t BatchRow::* step) {
  constexpr int64_t kVector = 16;
  if (along != static_cast<int64_t>(size_of(x.dtype))) return false;
  if (reinterpret_cast<uintptr_t>(x.data) % kVector != 0) return false;
  if (lines > 1 && other % kVector != 0) return false;
  for (const BatchRow& row : plan.batch) {
    if (row.*step % kVector != 0) return false;
  }
  return true;
}

void set_vectors(const BatchedProduct& plan, const Key& key, ProductArgs* args) {
  const Matrix &a = plan.first.a, &b = plan.first.b;
  args->vectors[kOfA] =
      key.a_along_k ? has_vectors(a, a.column_step, a.row_step, a.rows, plan, &BatchRow::a)
                    : has_vectors(a, a.row_step, a.column_step, a.columns, plan, &BatchRow::a);
  args->vectors[kOfB] =
      key.b_along_k ? has_vectors(b, b.row_step, b.column_step, b.columns, plan, &BatchRow::b)
                    : has_vectors(b, b.column_step, b.row_step, b.rows, plan, &BatchRow::b);
}

ProductArgs product_args(const BatchedProduct& plan, const Partition& partition) {
  ProductArgs args;
  const Product& first = plan.first;
  const Matrix* matrices[] = {&first.a, &first.b, &first.out};
  for (int operand = 0; operand < 3; ++operand) {
    args.data[operand] = matrices[operand]->data;
    args.steps[operand][0] = matrices[operand]->row_step;
    args.steps[operand][1] = matrices[operand]->column_step;
  }
  args.m = first.m();
  args.k = first.k();
  args.n = first.n();
  args.batch = plan.count();
  args.splits = partition.splits;
  args.part = partition.part;
  args.ndim = plan.batch.size();
  for (int d = 0; d < args.ndim; ++d) {
    const BatchRow& row = plan.batch[d];
    args.dims[d] = row.dim;
    args.strides[d][kOfA] = row.a;
    args.strides[d][kOfB] = row.b;
    args.strides[d][kOfOut] = row.out;
  }
  return args;
}

KernelRequest make_request(const Key& key) {
  KernelRequest request;
  request.kind = "matmul";
  request.op = kForms[static_cast<int>(key.form)];
  request.dtypes.assign(3, key.dtype);
  request.loop = request.dtypes;
  request.wide = true;
  request.args_bytes = sizeof(ProductArgs);
  if (key.form == Form::tiled) {
    const Tile& tile = tiles_of(key.dtype)[key.choice];
    request.options = {tile.rows, tile.columns, tile.depth, tile.own_rows, tile.own_columns};
  } else if (key.form == Form::tensor) {
    const TensorTile& tile = kTensorTiles[key.choice];
    request.options = {tile.warps_down, tile.warps_across, tile.rows, tile.columns};
  } else {
    return request;
  }
  request.options.push_back(key.a_along_k);
  request.options.push_back(key.b_along_k);
  return request;
}

void* program(Launching& launching, const Key& key) {
  static Programs<Key>& programs = *new Programs<Key>;
  return programs.get(launching, key, [&] { return make_request(key); });
}

int threads_of(const Key& key) {
  if (key.form == Form::tiled) {
    const Tile& tile = tiles_of(key.dtype)[key.choice];
    return tile.rows / tile.own_rows * (tile.columns / tile.own_columns);
  }
  if (key.form != Form::tensor) return kProductThreads;
  const TensorTile& tile = kTensorTiles[key.choice];
  return tile.warps_down * tile.warps_across * kWarp;
}

/// The form for a product whose n is 1 only where m is, too, or it was turned so.
Form form_of(ep::Device& device, const BatchedProduct& plan) {
  const Product& first = plan.first;
  if (first.n() == 1) {
    const bool along_k = first.m() == 1 || is_along_k(first.a.column_step, first.a.row_step);
    return along_k ? Form::rows : Form::columns;
  }
  const bool is_half = first.out.dtype == DType::f16 || first.out.dtype == DType::bf16;
  return is_half && has_tensor_cores(device) ? Form::tensor : Form::tiled;
}

}  // namespace

bool own_product(Launching& launching, const BatchedProduct& given) {
  if (given.batch.size() > layout::kBatchDims) return false;
  BatchedProduct plan = given;
  if (plan.first.m() == 1 && plan.first.n() > 1) {
    plan.first = plan.first.transposed();
    for (BatchRow& row : plan.batch) std::swap(row.a, row.b);
  }
  ep::Device& device = launching.device();
  const Matrix &a = plan.first.a, &b = plan.first.b;
  Key key{plan.first.out.dtype, form_of(device, plan), 0, true, true};
  Partition partition{};
  if (key.form == Form::rows || key.form == Form::columns) {
    partition = divide_vector(device, plan, key.form);
  } else {
    partition = divide_tiled(device, plan, key.form == Form::tensor);
    key.choice = static_cast<uint8_t>(partition.choice);
    key.a_along_k = is_along_k(a.column_step, a.row_step);
    key.b_along_k = is_along_k(b.row_step, b.column_step);
  }
  ProductArgs args = product_args(plan, partition);
  set_vectors(plan, key, &args);
  void* kernel = program(launching, key);
  if (!kernel) return false;
  if (partition.splits == 1) {
    launching.run_blocks(kernel, partition.blocks, threads_of(key), 0, args);
    return true;
  }
  void* merge = program(launching, {key.dtype, Form::merge, 0, false, false});
  if (!merge) return false;
  const int64_t elements = args.batch * args.m * args.n;
  args.partial =
      launching.scratch(static_cast<size_t>(elements * args.splits) * sum_bytes(key.dtype));
  launching.run_blocks(kernel, partition.blocks, threads_of(key), 0, args);
  launching.run(merge, elements, args);
  return true;
}

bool launch_matmul(Launching& launching, const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  for (int d = 0; d < iteration.ndim; ++d) {
    if (d != iteration.ndim - 2 && iteration.rows[d].dim == 0) return true;  // nothing to make
  }
  const BatchedProduct plan = plan_products(args);
  return library_product(launching, plan) || own_product(launching, plan);
}

}  // namespace ofl::ops::cuda
