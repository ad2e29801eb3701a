#include "base/vectors.h"

#include <mutex>

#include "base/error.h"

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
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) return Isa::avx512;
  return __builtin_cpu_supports("avx2") ? Isa::avx2 : Isa::baseline;
}
#else
Isa widest_isa() { return Isa::baseline; }
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
