// The functions of cuBLAS that products need: arguments are checked as the library does, the
// product itself runs on the caller's stream.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cublas/cublas_gemm.h"
#include "driver/control.h"

#define CUBLAS_EXPORT extern "C" __attribute__((visibility("default")))

namespace simcublas {
namespace {

#define SIMCUBLAS_STATUSES(row)                                                      \
  row(SUCCESS, 0) row(NOT_INITIALIZED, 1) row(ALLOC_FAILED, 3) row(INVALID_VALUE, 7) \
      row(ARCH_MISMATCH, 8) row(MAPPING_ERROR, 11) row(EXECUTION_FAILED, 13)         \
          row(INTERNAL_ERROR, 14) row(NOT_SUPPORTED, 15) row(LICENSE_ERROR, 16)

enum Status : int {
#define SIMCUBLAS_ENUMERATOR(name, code) name = code,
  SIMCUBLAS_STATUSES(SIMCUBLAS_ENUMERATOR)
#undef SIMCUBLAS_ENUMERATOR
};

constexpr int kVersion = 130000;
constexpr size_t kWorkspaceAlignment = 256;

/// Memory as a caller wrote it.
struct Range {
  unsigned long long pointer;
  size_t bytes;

  void* host() const { return simcuda_host_address(pointer, bytes); }
};

/// What a cublasHandle_t points to. One device's; used by one thread at a time.
struct Library {
  int device;
  void* memory;  // of the device
  void* stream = nullptr;
  Range workspace{};
  int math_mode = 0;
  bool scalars_on_device = false;
};

std::mutex libraries_mutex;  // guards libraries
std::set<Library*>& libraries() {
  static auto* const all = new std::set<Library*>;
  return *all;
}

bool is_known(Library* library) {
  std::lock_guard lock(libraries_mutex);
  return libraries().count(library) == 1;
}

/// A product that waits on its stream, or in a graph.
struct Task {
  Gemm gemm{};
  GemmFunction function = nullptr;
  char alpha[16];
  char beta[16];
  Range workspace{};
  std::vector<Range> matrices;
  const char* problem = nullptr;  // found when it was asked for
};

/// What a product writes into its workspace: nobody knows, and two products write other bytes.
unsigned char next_garbage() {
  static std::atomic<unsigned> count{0};
  return static_cast<unsigned char>(0x80 | ++count);
}

/// The product, during which its workspace is its own: filled with garbage, which must stay.
const char* run(void* data) {
  const Task& task = *static_cast<Task*>(data);
  if (task.problem) return task.problem;
  const bool are_there = std::all_of(task.matrices.begin(), task.matrices.end(),
                                     [](const Range& range) { return range.host() != nullptr; });
  if (!are_there) return "cuBLAS: a matrix of a product has been freed";
  const size_t bytes = task.workspace.bytes;
  void* const workspace = bytes ? task.workspace.host() : nullptr;
  if (bytes && !workspace) return "cuBLAS: the workspace of a product has been freed";
  const unsigned char garbage = next_garbage();
  if (bytes) std::memset(workspace, garbage, bytes);
  task.function(task.gemm);
  const auto* const begin = static_cast<const unsigned char*>(workspace);
  const bool is_intact =
      std::all_of(begin, begin + bytes, [garbage](unsigned char byte) { return byte == garbage; });
  return is_intact ? nullptr : "cuBLAS: somebody wrote to the workspace during a product";
}

/// A stream that captures takes it only with a workspace of the caller's: the library would add
/// nodes that allocate its own, and graphs of memory are not simulated.
Status enqueue(Library& library, std::unique_ptr<Task> task) {
  const auto release = [](void* data) { delete static_cast<Task*>(data); };
  const SimWork work{run, release, task.release(), library.workspace.bytes > 0};
  return simcuda_enqueue(library.stream, &work) == 0 ? SUCCESS : EXECUTION_FAILED;
}

/// An address that the library does not check: the product fails when it runs.
Status enqueue_failure(Library& library) {
  auto task = std::make_unique<Task>();
  task->problem = "cuBLAS: a matrix in no memory in reach";
  return enqueue(library, std::move(task));
}

/// The host's address of the first of `count` matrices, if all their elements are memory of CUDA;
/// which is added to `used`.
void* host_matrix(const void* pointer, int64_t rows, int64_t columns, int64_t lead, int64_t stride,
                  int64_t count, int bytes, std::vector<Range>* used) {
  const int64_t span = (columns - 1) * lead + rows + (count - 1) * std::max<int64_t>(stride, 0);
  used->push_back({reinterpret_cast<unsigned long long>(pointer),
                   static_cast<size_t>(span) * static_cast<size_t>(bytes)});
  return used->back().host();
}

struct Types {
  int a, b, c, compute;
};

Status enqueue_product(Library& library, const Gemm& gemm, GemmFunction function, int scale_bytes,
                       std::vector<Range> matrices) {
  auto task = std::make_unique<Task>();
  task->workspace = library.workspace;
  task->matrices = std::move(matrices);
  task->gemm = gemm;
  task->function = function;
  if (library.scalars_on_device) {
    for (const void** scalar : {&task->gemm.alpha, &task->gemm.beta}) {
      const auto address = reinterpret_cast<unsigned long long>(*scalar);
      *scalar = simcuda_host_address(address, static_cast<size_t>(scale_bytes));
      if (!*scalar) return enqueue_failure(library);
    }
  } else {
    std::memcpy(task->alpha, gemm.alpha, static_cast<size_t>(scale_bytes));
    std::memcpy(task->beta, gemm.beta, static_cast<size_t>(scale_bytes));
    task->gemm.alpha = task->alpha;
    task->gemm.beta = task->beta;
  }
  return enqueue(library, std::move(task));
}

Status multiply(Library* library, Gemm gemm, const Types& types) {
  if (const int planned = simcuda_planned_failure("cublasGemm")) return Status(planned);
  if (!is_known(library)) return NOT_INITIALIZED;
  const auto is_operation = [](int operation) { return operation >= 0 && operation <= 2; };
  if (!is_operation(gemm.a.operation) || !is_operation(gemm.b.operation)) return INVALID_VALUE;
  if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 || gemm.count < 0) return INVALID_VALUE;
  const int64_t a_rows = gemm.a.operation ? gemm.k : gemm.m;
  const int64_t b_rows = gemm.b.operation ? gemm.n : gemm.k;
  if (gemm.a.lead < std::max<int64_t>(1, a_rows) || gemm.b.lead < std::max<int64_t>(1, b_rows) ||
      gemm.c_lead < std::max<int64_t>(1, gemm.m)) {
    return INVALID_VALUE;
  }
  int scale_bytes = 0;
  const GemmFunction function = find_gemm(types.a, types.b, types.c, types.compute, &scale_bytes);
  if (!function) return NOT_SUPPORTED;
  if (!gemm.alpha || !gemm.beta) return INVALID_VALUE;
  if (gemm.m == 0 || gemm.n == 0 || gemm.count == 0) return SUCCESS;
  std::vector<Range> matrices;
  gemm.c = host_matrix(gemm.c, gemm.m, gemm.n, gemm.c_lead, gemm.c_stride, gemm.count,
                       element_bytes(types.c), &matrices);
  if (!gemm.c) return enqueue_failure(*library);
  if (gemm.k > 0) {
    const int64_t a_columns = gemm.a.operation ? gemm.m : gemm.k;
    const int64_t b_columns = gemm.b.operation ? gemm.k : gemm.n;
    gemm.a.data = host_matrix(gemm.a.data, a_rows, a_columns, gemm.a.lead, gemm.a.stride,
                              gemm.count, element_bytes(types.a), &matrices);
    gemm.b.data = host_matrix(gemm.b.data, b_rows, b_columns, gemm.b.lead, gemm.b.stride,
                              gemm.count, element_bytes(types.b), &matrices);
    if (!gemm.a.data || !gemm.b.data) return enqueue_failure(*library);
  }
  return enqueue_product(*library, gemm, function, scale_bytes, std::move(matrices));
}

}  // namespace
}  // namespace simcublas

using namespace simcublas;  // the functions below are this library

CUBLAS_EXPORT int cublasCreate_v2(Library** handle) {
  if (!handle) return INVALID_VALUE;
  if (const int planned = simcuda_planned_failure("cublasCreate")) return planned;
  const int device = simcuda_current_device();
  if (device < 0) return NOT_INITIALIZED;
  void* const memory = simcuda_take_memory(simcuda_library_bytes());
  if (!memory) return ALLOC_FAILED;
  *handle = new Library{device, memory};
  std::lock_guard lock(libraries_mutex);
  libraries().insert(*handle);
  return SUCCESS;
}

CUBLAS_EXPORT int cublasDestroy_v2(Library* handle) {
  std::lock_guard lock(libraries_mutex);
  if (libraries().erase(handle) == 0) return NOT_INITIALIZED;
  simcuda_give_back(handle->memory);
  delete handle;
  return SUCCESS;
}

CUBLAS_EXPORT int cublasGetVersion_v2(Library* handle, int* version) {
  if (handle && !is_known(handle)) return NOT_INITIALIZED;
  if (!version) return INVALID_VALUE;
  *version = kVersion;
  return SUCCESS;
}

CUBLAS_EXPORT int cublasSetStream_v2(Library* handle, void* stream) {
  if (const int planned = simcuda_planned_failure("cublasSetStream")) return planned;
  if (!is_known(handle)) return NOT_INITIALIZED;
  handle->stream = stream;
  handle->workspace = {};  // a stream that is set takes the workspace away
  return SUCCESS;
}

CUBLAS_EXPORT int cublasGetStream_v2(Library* handle, void** stream) {
  if (!is_known(handle)) return NOT_INITIALIZED;
  if (!stream) return INVALID_VALUE;
  *stream = handle->stream;
  return SUCCESS;
}

CUBLAS_EXPORT int cublasSetWorkspace_v2(Library* handle, void* workspace, size_t bytes) {
  if (!is_known(handle)) return NOT_INITIALIZED;
  const auto address = reinterpret_cast<unsigned long long>(workspace);
  if (bytes && (address % kWorkspaceAlignment || !simcuda_host_address(address, bytes))) {
    return INVALID_VALUE;
  }
  handle->workspace = {address, bytes};
  return SUCCESS;
}

CUBLAS_EXPORT int cublasSetMathMode(Library* handle, int mode) {
  if (!is_known(handle)) return NOT_INITIALIZED;
  constexpr int kModes = 0xf;
  constexpr int kDisallowReducedPrecision = 16;
  if (mode < 0 || (mode & ~(kModes | kDisallowReducedPrecision))) return INVALID_VALUE;
  handle->math_mode = mode;
  return SUCCESS;
}

CUBLAS_EXPORT int cublasGetMathMode(Library* handle, int* mode) {
  if (!is_known(handle)) return NOT_INITIALIZED;
  if (!mode) return INVALID_VALUE;
  *mode = handle->math_mode;
  return SUCCESS;
}

CUBLAS_EXPORT int cublasSetPointerMode_v2(Library* handle, int mode) {
  if (!is_known(handle)) return NOT_INITIALIZED;
  if (mode != 0 && mode != 1) return INVALID_VALUE;
  handle->scalars_on_device = mode == 1;
  return SUCCESS;
}

#define SIMCUBLAS_CASE(name, code) \
  case code: return "CUBLAS_STATUS_" #name;

CUBLAS_EXPORT const char* cublasGetStatusName(int status) {
  switch (status) {
    SIMCUBLAS_STATUSES(SIMCUBLAS_CASE)
    default: return "unknown cuBLAS status";
  }
}

CUBLAS_EXPORT const char* cublasGetStatusString(int status) { return cublasGetStatusName(status); }

// Each entry exists with 32-bit and, as NAME_64, with 64-bit sizes.
#define SIMCUBLAS_GEMMS(Int, suffix)                                                          \
  CUBLAS_EXPORT int cublasGemmStridedBatchedEx##suffix(                                       \
      Library* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, \
      int a_type, Int lda, long long a_stride, const void* b, int b_type, Int ldb,            \
      long long b_stride, const void* beta, void* c, int c_type, Int ldc, long long c_stride, \
      Int count, int compute, int /*algorithm*/) {                                            \
    return multiply(handle,                                                                   \
                    {m,                                                                       \
                     n,                                                                       \
                     k,                                                                       \
                     {a, lda, a_stride, ta},                                                  \
                     {b, ldb, b_stride, tb},                                                  \
                     c,                                                                       \
                     ldc,                                                                     \
                     c_stride,                                                                \
                     count,                                                                   \
                     alpha,                                                                   \
                     beta},                                                                   \
                    {a_type, b_type, c_type, compute});                                       \
  }                                                                                           \
  CUBLAS_EXPORT int cublasGemmEx##suffix(                                                     \
      Library* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, \
      int a_type, Int lda, const void* b, int b_type, Int ldb, const void* beta, void* c,     \
      int c_type, Int ldc, int compute, int /*algorithm*/) {                                  \
    return multiply(handle,                                                                   \
                    {m, n, k, {a, lda, 0, ta}, {b, ldb, 0, tb}, c, ldc, 0, 1, alpha, beta},   \
                    {a_type, b_type, c_type, compute});                                       \
  }

#define SIMCUBLAS_TYPED_GEMMS(letter, T, type, compute, Int, suffix)                             \
  CUBLAS_EXPORT int cublas##letter##gemm_v2##suffix(                                             \
      Library* handle, int ta, int tb, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
      const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                       \
    return multiply(handle,                                                                      \
                    {m, n, k, {a, lda, 0, ta}, {b, ldb, 0, tb}, c, ldc, 0, 1, alpha, beta},      \
                    {type, type, type, compute});                                                \
  }                                                                                              \
  CUBLAS_EXPORT int cublas##letter##gemmStridedBatched##suffix(                                  \
      Library* handle, int ta, int tb, Int m, Int n, Int k, const T* alpha, const T* a, Int lda, \
      long long a_stride, const T* b, Int ldb, long long b_stride, const T* beta, T* c, Int ldc, \
      long long c_stride, Int count) {                                                           \
    return multiply(handle,                                                                      \
                    {m,                                                                          \
                     n,                                                                          \
                     k,                                                                          \
                     {a, lda, a_stride, ta},                                                     \
                     {b, ldb, b_stride, tb},                                                     \
                     c,                                                                          \
                     ldc,                                                                        \
                     c_stride,                                                                   \
                     count,                                                                      \
                     alpha,                                                                      \
                     beta},                                                                      \
                    {type, type, type, compute});                                                \
  }

#define SIMCUBLAS_ALL(Int, suffix)                         \
  SIMCUBLAS_GEMMS(Int, suffix)                             \
  SIMCUBLAS_TYPED_GEMMS(S, float, kR32F, 68, Int, suffix)  \
  SIMCUBLAS_TYPED_GEMMS(D, double, kR64F, 70, Int, suffix) \
  SIMCUBLAS_TYPED_GEMMS(C, void, kC32F, 68, Int, suffix)   \
  SIMCUBLAS_TYPED_GEMMS(Z, void, kC64F, 70, Int, suffix)

SIMCUBLAS_ALL(int, )
SIMCUBLAS_ALL(int64_t, _64)
