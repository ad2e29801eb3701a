#include "ops/product/blas.h"

#include <atomic>

namespace ofl::ops {

namespace {

std::atomic<const Blas*> in_force{nullptr};

struct Finder {
  void* (*find)(void* context, const char* name);
  void* context;
  const char* missing = nullptr;

  template <typename Routine>
  void operator()(Routine* routine, const char* name) {
    void* address = find(context, name);
    if (!address && !missing) missing = name;
    *routine = reinterpret_cast<Routine>(address);
  }
};

/// Names of one element type, in the order of the members.
template <typename T>
void find_all(Finder& find, BlasRoutines<T>* routines, const char* const (&names)[5]) {
  find(&routines->gemm, names[0]);
  find(&routines->gemv, names[1]);
  find(&routines->syrk, names[2]);
  find(&routines->dot, names[3]);
  find(&routines->conjugated_dot, names[4]);
}

/// Names of one element type, in the order of the members.
template <typename T>
void find_all(Finder& find, LapackRoutines<T>* routines, const char* const (&names)[12]) {
  const char* const* name = names;
  find(&routines->getrf, *name++);
  find(&routines->getrs, *name++);
  find(&routines->laswp, *name++);
  find(&routines->potrf, *name++);
  find(&routines->trsm, *name++);
  find(&routines->geqr2, *name++);
  find(&routines->larft, *name++);
  find(&routines->larfb, *name++);
  find(&routines->syevd, *name++);
  find(&routines->geev, *name++);
  find(&routines->gesdd, *name++);
  find(&routines->gelsd, *name++);
}

}  // namespace

const char* find_routines(Blas* blas, void* (*find)(void* context, const char* name),
                          void* context) {
  Finder finder{find, context};
  find_all(finder, &std::get<0>(blas->routines),
           {"cblas_sgemm", "cblas_sgemv", "cblas_ssyrk", "cblas_sdot", "cblas_sdot"});
  find_all(finder, &std::get<1>(blas->routines),
           {"cblas_dgemm", "cblas_dgemv", "cblas_dsyrk", "cblas_ddot", "cblas_ddot"});
  find_all(finder, &std::get<2>(blas->routines),
           {"cblas_cgemm", "cblas_cgemv", "cblas_csyrk", "cblas_cdotu_sub", "cblas_cdotc_sub"});
  find_all(finder, &std::get<3>(blas->routines),
           {"cblas_zgemm", "cblas_zgemv", "cblas_zsyrk", "cblas_zdotu_sub", "cblas_zdotc_sub"});
  find_all(finder, &std::get<0>(blas->lapack),
           {"dgetrf_", "dgetrs_", "dlaswp_", "dpotrf_", "dtrsm_", "dgeqr2_", "dlarft_", "dlarfb_",
            "dsyevd_", "dgeev_", "dgesdd_", "dgelsd_"});
  find_all(finder, &std::get<1>(blas->lapack),
           {"zgetrf_", "zgetrs_", "zlaswp_", "zpotrf_", "ztrsm_", "zgeqr2_", "zlarft_", "zlarfb_",
            "zheevd_", "zgeev_", "zgesdd_", "zgelsd_"});
  return finder.missing;
}

const Blas* blas() { return in_force.load(std::memory_order_acquire); }

void set_blas(const Blas* blas) { in_force.store(blas, std::memory_order_release); }

}  // namespace ofl::ops
