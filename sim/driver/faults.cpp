#include "driver/faults.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "driver/race_view.h"

namespace simcuda {
namespace {

constexpr const char* kKinds[] = {"kernel", "copy", "fill"};  // by WorkKind
std::atomic<int64_t> work_counts[std::size(kKinds)];

/// The positive number at `text`; 0 if there is none or something follows.
int64_t number(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() || *end != '\0' || value < 0 ? 0 : value;
}

}  // namespace

int64_t work_count(WorkKind kind) {
  return work_counts[static_cast<int>(kind)].load(std::memory_order_relaxed);
}

void count_work(WorkKind kind) {
  work_counts[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed);
}

Faults& faults() {
  static Faults* const instance = new Faults;
  return *instance;
}

bool Faults::add_failure(const std::string& text) {
  const bool is_call = text.rfind("cu", 0) == 0 || text.rfind("nccl", 0) == 0;
  return is_call && add(text, ERROR_UNKNOWN);
}

bool Faults::add_omission(const std::string& text) {
  const bool has_code = std::count(text.begin(), text.end(), ':') > 1;
  return text.rfind("cu", 0) == 0 && !has_code && add(text, kOmitted);
}

bool Faults::add_death(const std::string& text) {
  const std::string kind = text.substr(0, text.find(':'));
  for (const char* known : kKinds) {
    if (kind == known) return add(text, ERROR_ILLEGAL_ADDRESS);
  }
  return false;
}

bool Faults::add(const std::string& text, Result default_code) {
  const size_t first = text.find(':');
  if (first == std::string::npos) return false;
  const size_t second = text.find(':', first + 1);
  const int64_t nth = number(text.substr(first + 1, second - first - 1));
  const bool has_code = second != std::string::npos;
  const int64_t code = has_code ? number(text.substr(second + 1)) : int64_t{default_code};
  if (nth <= 0 || (has_code && (code <= 0 || code > ERROR_UNKNOWN))) return false;
  std::lock_guard lock(mutex_);
  planned_.insert({text.substr(0, first), {nth, static_cast<Result>(code)}});
  is_armed_ = true;
  return true;
}

void Faults::reset() {
  std::lock_guard lock(mutex_);
  planned_.clear();
  is_armed_ = false;
}

Result Faults::take(const std::string& name) {
  std::lock_guard lock(mutex_);
  Result code = SUCCESS;
  const auto [begin, end] = planned_.equal_range(name);
  for (auto it = begin; it != end;) {
    if (--it->second.remaining > 0) {
      ++it;
      continue;
    }
    code = it->second.code;
    it = planned_.erase(it);
  }
  return code;
}

Result Faults::on_work(WorkKind kind) {
  const HiddenFromRaceDetector hidden;
  return on_call(kKinds[static_cast<int>(kind)]);
}

}  // namespace simcuda
