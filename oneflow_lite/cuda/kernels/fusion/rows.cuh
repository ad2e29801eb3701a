// Rows that are reduced among other operations. The same threads walk a row again and again: once
// for each reduction, and once more for what comes after the last one.
//
//   row ──► operations ──► reduction ──► operations (again where they are needed) ──► ... ──► memory

namespace ofl {

/// Elements of a row, from element `at` on, that lie one after the other from `first`.
template <typename T, int lanes, bool vectors, typename Index>
Loaded<T, lanes> load_run(const char* first, Index at) {
  const Stored<T>* from = reinterpret_cast<const Stored<T>*>(first) + at;
  Loaded<T, lanes> loaded;
  if constexpr (vectors) {
    loaded = *reinterpret_cast<const Loaded<T, lanes>*>(from);
  } else {
#pragma unroll
    for (int j = 0; j < lanes; ++j) loaded.lane[j] = from[j];
  }
  return loaded;
}

template <typename T, int lanes, bool vectors, typename Index>
void store_run(char* first, Index at, const Loaded<T, lanes>& elements) {
  Stored<T>* to = reinterpret_cast<Stored<T>*>(first) + at;
  if constexpr (vectors) {
    *reinterpret_cast<Loaded<T, lanes>*>(to) = elements;
  } else {
#pragma unroll
    for (int j = 0; j < lanes; ++j) to[j] = elements.lane[j];
  }
}

/// Element `at` of a row of value k, which lies in any way.
template <typename T, typename Index>
Stored<T>& element_of_row(const FusedArgs& args, int k, char* first, Index at) {
  Index sum = 0;
#pragma unroll 1
  for (int d = args.ndim - 1; d >= args.outer; --d) {
    const FusedRow& row = args.rows[d];
    const Index rest = d > args.outer ? quotient(at, row) : 0;
    sum += (at - rest * Index(row.dim)) * Index(row.strides[k]);
    at = rest;
  }
  return *reinterpret_cast<Stored<T>*>(first + typename OffsetOf<Index>::type(sum));
}

template <typename T, int lanes, typename Index>
Loaded<T, lanes> load_strided(const FusedArgs& args, int k, char* first, Index at) {
  Loaded<T, lanes> loaded;
#pragma unroll
  for (int j = 0; j < lanes; ++j) loaded.lane[j] = element_of_row<T>(args, k, first, at + j);
  return loaded;
}

template <typename T, int lanes, typename Index>
void store_strided(const FusedArgs& args, int k, char* first, Index at,
                   const Loaded<T, lanes>& elements) {
#pragma unroll
  for (int j = 0; j < lanes; ++j) element_of_row<T>(args, k, first, at + j) = elements.lane[j];
}

/// The result of a reduction, for all threads of a row: the first one has its value. Whatever they
/// have stored before, the others see after.
template <typename Op, typename Out>
Stored<Out> share_result(typename Op::Value value, uint32 threads) {
  __shared__ Stored<Out> of_rows[kReduceThreads];
  __syncthreads();  // the former ones have been read
  if (threadIdx.x % threads == 0) of_rows[threadIdx.x / threads].set(Op::result(value));
  __syncthreads();
  return of_rows[threadIdx.x / threads];
}

}  // namespace ofl
