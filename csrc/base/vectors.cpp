#include "base/vectors.h"

#include <mutex>

#include "base/error.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ofl {

namespace {

struct Choices {
  std::mutex mutex;  // guards the two below
  Isa most = widest_isa();
  std::map<std::string, Isa> made;
};

Choices& all_choices() {
  static Choices* choices = new Choices;
  return *choices;
}

}  // namespace

#ifdef OFL_X86_VECTORS
Isa widest_isa() {
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx512 && has_avx2) return Isa::avx512;
  return has_avx2 ? Isa::avx2 : Isa::baseline;
}

namespace {

struct Feature {
  const char* name;
  Isa set;  // that has it
  bool here;
};

std::vector<Feature> all_features() {
  const auto baseline = Isa::baseline, avx2 = Isa::avx2, avx512 = Isa::avx512;
  return {{"sse3", baseline, bool(__builtin_cpu_supports("sse3"))},
          {"sse4.2", baseline, bool(__builtin_cpu_supports("sse4.2"))},
          {"avx", avx2, bool(__builtin_cpu_supports("avx"))},
          {"avx2", avx2, bool(__builtin_cpu_supports("avx2"))},
          {"fma", avx2, bool(__builtin_cpu_supports("fma"))},
          {"bmi2", avx2, bool(__builtin_cpu_supports("bmi2"))},
          {"avx512f", avx512, bool(__builtin_cpu_supports("avx512f"))},
          {"avx512cd", avx512, bool(__builtin_cpu_supports("avx512cd"))},
          {"avx512bw", avx512, bool(__builtin_cpu_supports("avx512bw"))},
          {"avx512dq", avx512, bool(__builtin_cpu_supports("avx512dq"))},
          {"avx512vl", avx512, bool(__builtin_cpu_supports("avx512vl"))}};
}

}  // namespace

std::vector<std::string> cpu_features() {
  const Isa most = isa_in_use();
  const bool limited = most < widest_isa();  // else features of a wider set that is not whole count
  std::vector<std::string> names;
  for (const Feature& feature : all_features()) {
    if (feature.here && !(limited && feature.set > most)) names.push_back(feature.name);
  }
  return names;
}
#else
Isa widest_isa() { return Isa::baseline; }

std::vector<std::string> cpu_features() {
  std::vector<std::string> names;
#if defined(__aarch64__) && defined(__linux__)
  const unsigned long has = getauxval(AT_HWCAP);
  if (has & HWCAP_ATOMICS) names.push_back("atomics");
  if (has & HWCAP_ASIMDDP) names.push_back("asimddp");
  if (has & HWCAP_SVE) names.push_back("sve");
#endif
  return names;
}
#endif

Isa isa_in_use() {
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.most;
}

void limit_isa(Isa most) {
  if (most > widest_isa()) {
    fail(ErrorKind::value, "[vectors] expected an instruction set that the processor has, got ",
         name_of(most), " (its widest is ", name_of(widest_isa()), ")");
  }
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (!all.made.empty()) {
    fail(ErrorKind::runtime, "[vectors] expected the limit ", name_of(most),
         " before the first loop is chosen, but '", all.made.begin()->first, "' is");
  }
  all.most = most;
}

void note_choice(const char* name, Isa isa) {
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.made[name] = isa;
}

std::map<std::string, Isa> choices() {
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.made;
}

}  // namespace ofl
