#include "driver/config.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "driver/faults.h"
#include "driver/table.h"

namespace simcuda {
namespace {

struct Unit {
  const char* name;
  double scale;
};
constexpr Unit kPlain[] = {{"", 1}};
constexpr Unit kBytes[] = {{"", 1},         {"B", 1},         {"KB", 1 << 10}, {"KiB", 1 << 10},
                           {"MB", 1 << 20}, {"MiB", 1 << 20}, {"GB", 1 << 30}, {"GiB", 1 << 30}};
constexpr Unit kRates[] = {{"B/s", 1},    {"kB/s", 1e3}, {"KB/s", 1e3},
                           {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// A number with one of the units; nullopt if `text` is something else.
template <size_t N>
std::optional<double> parse(const std::string& text, const Unit (&units)[N]) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
  for (const Unit& unit : units) {
    const double value = number * unit.scale;
    if (unit.name == std::string(end) && value < 9e18) return value;
  }
  if (number == 0 && *end == '\0') return 0;
  return std::nullopt;
}

/// One knob: where its value goes, its units, its bounds.
struct Knob {
  const char* key;
  bool is_fixed_by_init;
  std::function<bool(const std::string&)> check_and_set;
};

template <size_t N>
Knob integer(const char* key, bool is_fixed, std::atomic<int64_t>& target, const Unit (&units)[N],
             double low, double high) {
  return {key, is_fixed, [&target, &units, low, high](const std::string& text) {
            const auto value = parse(text, units);
            if (!value || *value < low || *value > high) return false;
            target = static_cast<int64_t>(*value);
            return true;
          }};
}

/// "cuX:10us"
bool set_cost(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const auto ns = parse(text.substr(colon + 1), kTimes);
  return ns && *ns <= 60e9 && set_call_cost(text.substr(0, colon), static_cast<int64_t>(*ns));
}

bool set_lanes(Config& c, const std::string& text) {
  constexpr const char* kNames[] = {"ordered", "random", "twice"};  // by Lanes
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (text != kNames[i]) continue;
    c.lanes = static_cast<int64_t>(i);
    return true;
  }
  return false;
}

Knob rate(const char* key, std::atomic<double>& target) {
  return {key, false, [&target](const std::string& text) {
            const auto value = parse(text, kRates);
            if (value) target = *value;
            return value.has_value();
          }};
}

std::vector<Knob> knobs(Config& c) {
  return {
      integer("devices", true, c.devices, kPlain, 0, 64),
      integer("memory", true, c.memory, kBytes, 0, 1e15),
      integer("sms", true, c.multiprocessors, kPlain, 1, 1024),
      integer("capability", true, c.capability, kPlain, 50, 129),
      integer("peer", true, c.peer, kPlain, 0, 1),
      integer("page", true, c.page, kBytes, 1024, 1e9),
      integer("jitter", false, c.jitter_ns, kTimes, 0, 10e9),
      integer("seed", false, c.seed, kPlain, 0, 9e15),
      integer("launch", false, c.launch_ns, kTimes, 0, 60e9),
      integer("kernel", false, c.kernel_ns, kTimes, 0, 60e9),
      integer("poison", false, c.poison, kBytes, 0, 1e15),
      {"lanes", false, [&c](const std::string& text) { return set_lanes(c, text); }},
      integer("guess", false, c.guess, kPlain, 0, 1),
      integer("queue", false, c.queue, kPlain, 1, 1e9),
      integer("module", false, c.module, kBytes, 0, 1e15),
      integer("library", false, c.library, kBytes, 0, 1e15),
      integer("foreign", false, c.foreign, kBytes, 0, 1e15),
      integer("pinned", false, c.pinned, kBytes, 0, 1e15),
      rate("h2d", c.h2d),
      rate("d2h", c.d2h),
      rate("d2d", c.d2d),
      {"call", false, set_cost},
      {"fail", false, [](const std::string& text) { return faults().add_failure(text); }},
      {"omit", false, [](const std::string& text) { return faults().add_omission(text); }},
      {"die", false, [](const std::string& text) { return faults().add_death(text); }},
  };
}

std::string apply(Config& target, const std::string& item, bool is_initialized) {
  const size_t equals = item.find('=');
  const std::string key = item.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
  for (const Knob& knob : knobs(target)) {
    if (key != knob.key) continue;
    if (knob.is_fixed_by_init && is_initialized) return item + ": fixed when cuInit was called";
    return knob.check_and_set(value) ? "" : item + ": not a value of this knob";
  }
  return item + ": no such knob";
}

}  // namespace

Config& config() {
  static Config* const instance = new Config;  // outlives every thread and exit handler
  return *instance;
}

std::string configure(const std::string& text, bool is_initialized) {
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    if (item.empty()) continue;
    const std::string problem = apply(config(), item, is_initialized);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace simcuda
