// Products of half precision by tensor cores, summed in float32 (sm_80 and newer). A block makes a
// tile of the result; a warp 16 x 8 parts of it. `stages` slices of the operands, 32 deep, are in
// shared memory or on their way there.
//
// Slices lie in shared memory as they lie in memory, [row][k] or [k][row], in chunks of 16 bytes
// whose order within a line depends on the line: eight chunks that are read at once are in
// different banks.

namespace ofl {

enum { kChunk = 8, kStages = 3 };

template <int extent, bool along_k>
struct SliceOf {
  enum { size = extent * kProductDepth, is_along_k = along_k };  // size in elements

  /// Of element (row, k) in the slice. Chunks go along what is contiguous.
  static int offset(int row, int k) {
    if (along_k) return row * kProductDepth + ((k / kChunk ^ (row / 2 & 3)) * kChunk) + k % kChunk;
    return k * extent + ((row / kChunk ^ (k & 7)) * kChunk) + row % kChunk;
  }
};

// --- what is the device's, and what stands for it where the driver is simulated

#ifdef SIM_CUDA_H_

inline void start_chunk(uint16* target, const char* source, int bytes) {
  __builtin_memset(target, 0, 16);
  __builtin_memcpy(target, source, bytes);
}
inline void end_stage() {}
inline void wait_for_stage() {}
inline void wait_for_all_stages() {}

/// Adds the products of a slice: `down` x `across` parts of the warp that begins at (row, column).
template <typename T, typename SliceA, typename SliceB, int down, int across>
void multiply_slice(float (&sums)[down][across][4], const uint16* a, const uint16* b, int row,
                    int column) {
  const int lane = threadIdx.x % kWarp;
  for (int k = 0; k < kProductDepth; ++k) {
    float x[down * 2], y[across * 2];
    for (int i = 0; i < down * 2; ++i) {
      const uint16 bits = a[SliceA::offset(row + i * 8 + lane / 4, k)];
      x[i] = float(*reinterpret_cast<const T*>(&bits));
    }
    for (int j = 0; j < across * 2; ++j) {
      const uint16 bits = b[SliceB::offset(column + j / 2 * 8 + lane % 4 * 2 + j % 2, k)];
      y[j] = float(*reinterpret_cast<const T*>(&bits));
    }
    for (int i = 0; i < down * 2; ++i) {
      for (int j = 0; j < across * 2; ++j) sums[i / 2][j / 2][i % 2 * 2 + j % 2] += x[i] * y[j];
    }
  }
}

#else

inline uint32 shared_address(const void* pointer) {
  return uint32(__cvta_generic_to_shared(pointer));
}

/// 16 bytes to shared memory, of which `bytes` are the source's and the others 0.
inline void start_chunk(uint16* target, const char* source, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(target)),
               "l"(source), "r"(bytes)
               : "memory");
}
inline void end_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// All but the last one are there.
inline void wait_for_stage() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
}
inline void wait_for_all_stages() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

/// Four matrices of 8 x 8, from the lines whose addresses the lanes have: eight lanes for each.
template <bool transposed>
void load_matrices(uint32 (&registers)[4], const uint16* line) {
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(shared_address(line))
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(shared_address(line))
                 : "memory");
  }
}

#define OFL_MULTIPLY_PARTS(type)                                             \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/// sums += a @ b, of 16 x 16 and 16 x 8 elements, spread over the lanes of the warp.
template <typename T>
void multiply_parts(float (&sums)[4], const uint32 (&a)[4], const uint32* b) {
  if constexpr (Same<T, float16>::type) {
    OFL_MULTIPLY_PARTS("f16");
  } else {
    OFL_MULTIPLY_PARTS("bf16");
  }
}
#undef OFL_MULTIPLY_PARTS

/// Adds the products of a slice: `down` x `across` parts of the warp that begins at (row, column).
template <typename T, typename SliceA, typename SliceB, int down, int across>
void multiply_slice(float (&sums)[down][across][4], const uint16* a, const uint16* b, int row,
                    int column) {
  enum { a_along_k = SliceA::is_along_k, b_along_k = SliceB::is_along_k, step = 16 };
  const int lane = threadIdx.x % kWarp;
  const int line = lane % 8, second = lane / 8 % 2 * 8, third = lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < kProductDepth; k += step) {
    uint32 x[down][4], y[across / 2][4];
#pragma unroll
    for (int i = 0; i < down; ++i) {
      const int first = row + i * 16;
      load_matrices<!a_along_k>(x[i],
                                a + (a_along_k ? SliceA::offset(first + second + line, k + third)
                                               : SliceA::offset(first + second, k + third + line)));
    }
#pragma unroll
    for (int j = 0; j < across / 2; ++j) {
      const int first = column + j * 16;
      load_matrices<!b_along_k>(y[j],
                                b + (b_along_k ? SliceB::offset(first + third + line, k + second)
                                               : SliceB::offset(first + third, k + second + line)));
    }
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) multiply_parts<T>(sums[i][j], x[i], y[j / 2] + j % 2 * 2);
    }
  }
}

#endif

// --- the kernel

/// Brings slices of one operand to shared memory. What lies outside of it is 0.
template <int extent, int threads, bool along_k>
struct ChunkLoader {
  typedef SliceOf<extent, along_k> Slice;
  enum {
    count = extent * kProductDepth / kChunk / threads,
    across = along_k ? kProductDepth : extent
  };

  const char* first;
  int64 row_bytes, k_bytes;
  int rows;
  bool vectors;

  ChunkLoader(const char* first, int64 row_bytes, int64 k_bytes, int64 rows_left, bool vectors)
      : first(first),
        row_bytes(row_bytes),
        k_bytes(k_bytes),
        rows(least(rows_left, extent)),
        vectors(vectors) {}

  /// The slice that begins at k; `left` is how deep the operand is from there.
  void start(uint16* slice, int64 begin, int64 left) const {
    const int deep = least(left, kProductDepth);
    const int64 step = along_k ? k_bytes : row_bytes;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int chunk = threadIdx.x + i * threads;
      const int line = chunk / (across / kChunk), place = chunk % (across / kChunk) * kChunk;
      const int row = along_k ? line : place, k = along_k ? place : line;
      const int room = along_k ? deep - k : rows - row;
      const bool is_line = along_k ? row < rows : k < deep;
      const int valid = !is_line || room < 0 ? 0 : room < kChunk ? room : kChunk;
      uint16* const target = slice + Slice::offset(row, k);
      const char* const source = valid ? first + row * row_bytes + (begin + k) * k_bytes : first;
      if (vectors) {
        start_chunk(target, source, valid * int(sizeof(uint16)));
      } else {
        Chunk<uint16> held;
#pragma unroll
        for (int j = 0; j < kChunk; ++j) {
          held.at[j] = j < valid ? *reinterpret_cast<const uint16*>(source + j * step) : 0;
        }
        *reinterpret_cast<Chunk<uint16>*>(target) = held;
      }
    }
  }
};

/// Warps, `warps_down` x `warps_across`, that make a tile of `rows` x `columns` each.
template <typename T, int warps_down, int warps_across, int rows, int columns, bool a_along_k,
          bool b_along_k>
void run_tensor(const ProductArgs& args) {
  enum {
    threads = warps_down * warps_across * kWarp,
    down = rows / 16,
    across = columns / 8,
    all_rows = rows * warps_down,
    all_columns = columns * warps_across
  };
  typedef ChunkLoader<all_rows, threads, a_along_k> LoaderA;
  typedef ChunkLoader<all_columns, threads, b_along_k> LoaderB;
  __shared__ __align__(128) uint16 slices_a[kStages][LoaderA::Slice::size];
  __shared__ __align__(128) uint16 slices_b[kStages][LoaderB::Slice::size];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int warp_row = warp / warps_across * rows, warp_column = warp % warps_across * columns;
  const int64 tiles = tiles_of(args, all_rows, all_columns);
#pragma unroll 1
  for (int64 index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Place place = place_of(args, index, all_rows, all_columns);
    const Share& share = place.share;
    const LoaderA a(share.a + place.row * args.steps[kOfA][0], args.steps[kOfA][0],
                    args.steps[kOfA][1], args.m - place.row, args.vectors[kOfA]);
    const LoaderB b(share.b + place.column * args.steps[kOfB][1], args.steps[kOfB][1],
                    args.steps[kOfB][0], args.n - place.column, args.vectors[kOfB]);
    float sums[down][across][4] = {};
    // Slice s goes to stage s % kStages, which all have left when slice s - 1 has come.
    const int64 slices = (share.end - share.begin + kProductDepth - 1) / kProductDepth;
    const auto start = [&](int64 slice) {
      if (slice < slices) {
        const int64 begin = share.begin + slice * kProductDepth;
        a.start(slices_a[slice % kStages], begin, share.end - begin);
        b.start(slices_b[slice % kStages], begin, share.end - begin);
      }
      end_stage();
    };
#pragma unroll
    for (int slice = 0; slice < kStages - 1; ++slice) start(slice);
#pragma unroll 1
    for (int64 slice = 0; slice < slices; ++slice) {
      wait_for_stage();
      __syncthreads();
      start(slice + kStages - 1);
      const int stage = int(slice % kStages);
      multiply_slice<T, typename LoaderA::Slice, typename LoaderB::Slice>(
          sums, slices_a[stage], slices_b[stage], warp_row, warp_column);
    }
    wait_for_all_stages();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int64 row = place.row + warp_row + i * 16 + e / 2 * 8 + lane / 4;
          const int64 column = place.column + warp_column + j * 8 + lane % 4 * 2 + e % 2;
          if (row < args.m && column < args.n) put<T>(args, share, row, column, sums[i][j][e]);
        }
      }
    }
  }
}

}  // namespace ofl
