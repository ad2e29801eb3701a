// The vectors of each processor: the same code is compiled for some instruction sets, and one of
// them is chosen as it runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Functions for processors that have these vectors; only choose_by_isa() hands them out. No
/// attributes, and never chosen, with other processors and compilers.
#if defined(__x86_64__) && defined(__GNUC__)
#define OFL_X86_VECTORS 1
#define OFL_AVX2 __attribute__((target("avx2")))
#define OFL_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
/// All that such a function calls is inlined, and so compiled for its vectors.
#define OFL_FLAT __attribute__((flatten))
#else
#define OFL_AVX2
#define OFL_AVX512
#define OFL_FLAT
#endif

namespace ofl {

/// Instruction sets, the narrowest first. `baseline` is what everything is compiled for.
enum class Isa : uint8_t { baseline, avx2, avx512 };

inline constexpr const char* kIsaNames[] = {"baseline", "avx2", "avx512"};
inline constexpr int kIsaCount = sizeof(kIsaNames) / sizeof(kIsaNames[0]);

inline const char* name_of(Isa isa) { return kIsaNames[static_cast<int>(isa)]; }

/// The widest set that the processor has.
Isa widest_isa();

/// The widest set that loops use: widest_isa(), unless limit_isa() has set a narrower one.
Isa isa_in_use();

/// Names of the processor's features in which OpenBLAS's kinds of core differ, within isa_in_use().
std::vector<std::string> cpu_features();

/// Limits the loops that are chosen from now on. Throws for a set that the processor lacks, and
/// after the first choice. Any thread.
void limit_isa(Isa most);

/// Notes that a loop of this name was chosen, and the set that it is compiled for. Any thread.
void note_choice(const char* name, Isa isa);

/// The loops chosen so far, by name. Any thread.
std::map<std::string, Isa> choices();

/// The one place that chooses: the widest of what there is for isa_in_use(). The caller keeps what
/// it gets. Any thread.
template <typename T>
T choose_by_isa(const char* name, T baseline, T avx2) {
  const bool has_avx2 = isa_in_use() >= Isa::avx2;
  note_choice(name, has_avx2 ? Isa::avx2 : Isa::baseline);
  return has_avx2 ? avx2 : baseline;
}
template <typename T>
T choose_by_isa(const char* name, T baseline, T avx2, T avx512) {
  if (isa_in_use() < Isa::avx512) return choose_by_isa(name, baseline, avx2);
  note_choice(name, Isa::avx512);
  return avx512;
}

#ifdef OFL_X86_VECTORS
inline bool is_intel() { return __builtin_cpu_is("intel"); }
#else
constexpr bool is_intel() { return false; }
#endif

}  // namespace ofl
