#include "ep/cuda/cublas.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <complex>
#include <new>

#include "ep/memory/caching_allocator.h"

namespace ofl::ep::cuda {

namespace {

using Status = int;
using Handle = CublasState*;

constexpr Status kNotInitialized = 1, kAllocFailed = 3, kNotSupported = 15;

// X(name, name in the library, parameters); the last two, for sizes beyond int, came with 12.0.
#define OFL_CUBLAS_FUNCTIONS(X)                                                                 \
  X(Create, "cublasCreate_v2", (Handle * handle))                                               \
  X(Destroy, "cublasDestroy_v2", (Handle handle))                                               \
  X(GetVersion, "cublasGetVersion_v2", (Handle handle, int* version))                           \
  X(SetStream, "cublasSetStream_v2", (Handle handle, StreamHandle stream))                      \
  X(SetWorkspace, "cublasSetWorkspace_v2", (Handle handle, void* memory, size_t bytes))         \
  X(SetMathMode, "cublasSetMathMode", (Handle handle, int mode))                                \
  X(GemmEx, "cublasGemmEx",                                                                     \
    (Handle handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,      \
     int a_type, int a_lead, const void* b, int b_type, int b_lead, const void* beta, void* c,  \
     int c_type, int c_lead, int compute, int algorithm))                                       \
  X(GemmStridedBatchedEx, "cublasGemmStridedBatchedEx",                                         \
    (Handle handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,      \
     int a_type, int a_lead, long long a_stride, const void* b, int b_type, int b_lead,         \
     long long b_stride, const void* beta, void* c, int c_type, int c_lead, long long c_stride, \
     int count, int compute, int algorithm))                                                    \
  X(GemmEx64, "cublasGemmEx_64",                                                                \
    (Handle handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void* alpha,         \
     const void* a, int a_type, int64_t a_lead, const void* b, int b_type, int64_t b_lead,      \
     const void* beta, void* c, int c_type, int64_t c_lead, int compute, int algorithm))        \
  X(GemmStridedBatchedEx64, "cublasGemmStridedBatchedEx_64",                                    \
    (Handle handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void* alpha,         \
     const void* a, int a_type, int64_t a_lead, long long a_stride, const void* b, int b_type,  \
     int64_t b_lead, long long b_stride, const void* beta, void* c, int c_type, int64_t c_lead, \
     long long c_stride, int64_t count, int compute, int algorithm))

struct Routines {
#define OFL_CUBLAS_FIELD(name, symbol, parameters) Status(*name) parameters = nullptr;
  OFL_CUBLAS_FUNCTIONS(OFL_CUBLAS_FIELD)
#undef OFL_CUBLAS_FIELD
  const char* (*GetStatusName)(Status) = nullptr;
  int version = 0;
};

Routines find_routines(void* loaded, const std::string& path) {
  Routines routines;
#define OFL_CUBLAS_FIND(name, symbol, parameters) find_function(loaded, symbol, &routines.name);
  OFL_CUBLAS_FUNCTIONS(OFL_CUBLAS_FIND)
#undef OFL_CUBLAS_FIND
  find_function(loaded, "cublasGetStatusName", &routines.GetStatusName);
  if (!routines.Create || !routines.Destroy || !routines.GetVersion || !routines.SetStream ||
      !routines.SetWorkspace || !routines.SetMathMode || !routines.GemmEx ||
      !routines.GemmStridedBatchedEx || !routines.GetStatusName) {
    fail(ErrorKind::runtime, "[cublas] ", path,
         " is too old; install a newer one, or set ONEFLOW_LITE_CUDA_BLAS=0");
  }
  routines.GetVersion(nullptr, &routines.version);
  routines.version = std::max(routines.version, 1);
  return routines;
}

FoundLibrary<Routines>& library() {
  static auto* const the_library =
      new FoundLibrary<Routines>("cublas", "ONEFLOW_LITE_CUDA_BLAS", find_routines);
  return *the_library;
}
std::atomic<bool> tf32_is_allowed{false};

/// Once it has been found to be there.
const Routines& cublas() { return *library().routines(); }

/// How the library calls a type, what it computes in, and 0 and 1 as it takes them.
struct TypeRow {
  GemmType type;
  int element, compute, compute_tf32;
  const void *zero, *one;
};

template <typename T>
constexpr T kZero{0};
template <typename T>
constexpr T kOne{1};

const TypeRow& row_of(GemmType type) {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  static const TypeRow rows[] = {
      {GemmType::f16, 2, 68, 68, &kZero<float>, &kOne<float>},
      {GemmType::bf16, 14, 68, 68, &kZero<float>, &kOne<float>},
      {GemmType::f32, 0, 68, 77, &kZero<float>, &kOne<float>},
      {GemmType::f64, 1, 70, 70, &kZero<double>, &kOne<double>},
      {GemmType::c64, 4, 68, 77, &kZero<C64>, &kOne<C64>},
      {GemmType::c128, 5, 70, 70, &kZero<C128>, &kOne<C128>},
  };
  return rows[static_cast<int>(type)];
}

bool fits_int(const GemmCall& call) {
  return std::max({call.m, call.n, call.k, call.a.lead, call.b.lead, call.out_lead, call.count}) <=
         INT_MAX;
}

constexpr int kAnyAlgorithm = -1;

/// The library's matrices are column-major: it makes out.T = b.T @ a.T.
template <typename Int, typename One, typename Batched>
Status run(Handle handle, const GemmCall& call, const TypeRow& row, int compute, One one,
           Batched batched) {
  const int ta = call.a.transposed, tb = call.b.transposed, type = row.element;
  const auto m = Int(call.m), n = Int(call.n), k = Int(call.k);
  const auto lead_a = Int(call.a.lead), lead_b = Int(call.b.lead), lead = Int(call.out_lead);
  if (call.count == 1) {
    return one(handle, tb, ta, n, m, k, row.one, call.b.data, type, lead_b, call.a.data, type,
               lead_a, row.zero, call.out, type, lead, compute, kAnyAlgorithm);
  }
  return batched(handle, tb, ta, n, m, k, row.one, call.b.data, type, lead_b, call.b.stride,
                 call.a.data, type, lead_a, call.a.stride, row.zero, call.out, type, lead,
                 call.out_stride, Int(call.count), compute, kAnyAlgorithm);
}

}  // namespace

void set_cublas_finder(LibraryFinder finder) { library().set_finder(std::move(finder)); }

void use_cublas(bool on) { library().use(on); }

void allow_tf32(bool on) { tf32_is_allowed.store(on, std::memory_order_relaxed); }

bool is_tf32_allowed() { return tf32_is_allowed.load(std::memory_order_relaxed); }

int cublas_version() {
  const Routines* const found = library().is_used() ? library().routines() : nullptr;
  return found ? found->version : 0;
}

std::unique_ptr<Cublas> Cublas::make(Device& device, DeviceContext& context, StreamHandle stream) {
  if (!cublas_version()) return nullptr;
  std::unique_ptr<Cublas> made(new Cublas(device, context, stream));
  made->start();
  return made;
}

void Cublas::check(int status, const char* function) {
  if (status == 0) return;
  fail(status == kAllocFailed ? ErrorKind::out_of_memory : ErrorKind::runtime, "[",
       context_.id().str(), "] ", function, ": ", cublas().GetStatusName(status),
       "; ONEFLOW_LITE_CUDA_BLAS=0 does without cuBLAS");
}

/// The library finds memory by itself: where there is none, it tries again when the device has
/// given back what it keeps. Creation says NOT_INITIALIZED of that, too.
template <typename Call>
int Cublas::with_memory(const Call& call) {
  const Status status = call();
  const bool is_short = status == kAllocFailed || (!handle_ && status == kNotInitialized);
  return is_short && release_caches(device_) ? call() : status;
}

// 32 MiB of workspace is what NVIDIA recommends for sm_90 and sm_100; small devices get less.
void Cublas::start() {
  constexpr size_t kWorkspace = size_t{32} << 20, kPartOfDevice = 128;
  constexpr int kNoReducedSums = 16;  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
  const Routines& routines = cublas();
  check(with_memory([&] { return routines.Create(&handle_); }), "cublasCreate");
  check(routines.SetMathMode(handle_, kNoReducedSums), "cublasSetMathMode");
  const size_t bytes = std::min(kWorkspace, device_.memory_info().capacity / kPartOfDevice);
  workspace_ = device_.allocator().alloc(bytes, nullptr);
  workspace_bytes_ = bytes;
  go_to(home_);
}

// A stream that is set takes the workspace away, so that comes after it.
void Cublas::go_to(StreamHandle stream) {
  is_there_ = false;
  check(cublas().SetStream(handle_, stream), "cublasSetStream");
  check(cublas().SetWorkspace(handle_, workspace_, workspace_bytes_), "cublasSetWorkspace");
  is_there_ = true;
}

/// At the end of the process the driver may be gone, and the library with it.
bool Cublas::is_usable() const {
  Context current = nullptr;
  return handle_ && !context_.is_dead() && call().CtxGetCurrent(&current) == kSuccess;
}

// The stream is empty.
Cublas::~Cublas() {
  if (is_usable()) {
    const Current context(context_, std::nothrow);
    cublas().Destroy(handle_);
  }
  if (workspace_) device_.allocator().free(workspace_, workspace_bytes_, nullptr);
}

bool Cublas::gemm(const GemmCall& call) {
  const Routines& routines = cublas();
  const TypeRow& row = row_of(call.type);
  const int compute = call.rounds ? row.compute_tf32 : row.compute;
  const bool wide = !fits_int(call);
  if (wide && !(routines.GemmEx64 && routines.GemmStridedBatchedEx64)) return false;
  if (!is_there_) go_to(home_);
  const Status status = with_memory([&] {
    return wide ? run<int64_t>(handle_, call, row, compute, routines.GemmEx64,
                               routines.GemmStridedBatchedEx64)
                : run<int>(handle_, call, row, compute, routines.GemmEx,
                           routines.GemmStridedBatchedEx);
  });
  if (status == kNotSupported) return false;
  check(status, call.count == 1 ? "cublasGemmEx" : "cublasGemmStridedBatchedEx");
  return true;
}

CublasLoan::CublasLoan(Cublas& cublas, StreamHandle stream) : cublas_(cublas) {
  cublas_.go_to(stream);
}

CublasLoan::~CublasLoan() {
  cublas_.is_there_ = false;
  if (!cublas_.is_usable()) return;
  const Current context(cublas_.context_, std::nothrow);
  try {
    cublas_.go_to(cublas_.home_);
  } catch (const Error&) {  // is_there_ tells the next product
  }
}

}  // namespace ofl::ep::cuda
