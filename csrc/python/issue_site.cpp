#include "python/issue_site.h"

#include <array>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "python/numpy_api.h"

namespace ofl::python {

namespace {

constexpr size_t kMaxPlaces = size_t{1} << 20;  // then the look-up starts anew; sites stay
constexpr size_t kCacheSize = 1024;

/// A place in a program; holds its code object, so that the address stays the key of this one.
struct Place {
  PyCodeObject* code = nullptr;
  int offset = 0;

  bool operator==(const Place& other) const { return code == other.code && offset == other.offset; }
};

struct PlaceHash {
  size_t operator()(const Place& place) const {
    return (reinterpret_cast<size_t>(place.code) >> 4) * 31 + static_cast<size_t>(place.offset);
  }
};

constexpr vm::SiteId kInternal = ~vm::SiteId{0};

struct CacheEntry {
  Place place;
  vm::SiteId id = 0;
};

// With the GIL.
std::array<CacheEntry, kCacheSize> cache;
std::unordered_map<Place, vm::SiteId, PlaceHash> places;
std::string package_dir;

std::mutex sites_mutex;  // guards the two below: reports come from any thread
std::vector<Site> sites(1);
std::map<std::pair<std::string, int>, vm::SiteId> known_sites;

vm::SiteId add_site(PyFrameObject* frame, PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  const std::string name = file ? file : "?";
  if (!package_dir.empty() && name.compare(0, package_dir.size(), package_dir) == 0) {
    return kInternal;
  }
  const int line = PyFrame_GetLineNumber(frame);
  return site_named(name, line);
}

vm::SiteId site_of(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const Place place{code, PyFrame_GetLasti(frame)};
  CacheEntry& cached = cache[PlaceHash{}(place) % kCacheSize];
  if (cached.place == place) {
    Py_DECREF(code);
    return cached.id;
  }
  auto found = places.find(place);
  if (found == places.end()) {
    if (places.size() >= kMaxPlaces) {
      cache.fill({});
      std::unordered_map<Place, vm::SiteId, PlaceHash> old;
      old.swap(places);
      for (auto& entry : old) Py_DECREF(entry.first.code);
    }
    found = places.emplace(place, add_site(frame, code)).first;  // keeps the reference to `code`
  } else {
    Py_DECREF(code);
  }
  cached = {place, found->second};
  return found->second;
}

struct Found {
  vm::SiteId id;
  int level;  // of its frame as warnings count: the innermost one is 1
};

Found find_site() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  vm::SiteId id = 0;
  int level = 0;
  while (frame) {
    id = site_of(frame);
    ++level;
    PyFrameObject* caller = nullptr;
    if (id == kInternal) {
      caller = PyFrame_GetBack(frame);
      if (!caller) PyErr_Clear();  // no memory for it, or there is none: the place is unknown
    }
    Py_DECREF(frame);
    frame = caller;
  }
  return {id == kInternal ? 0 : id, level};
}

}  // namespace

vm::SiteId capture_site() { return find_site().id; }

int site_level() { return find_site().level; }

Site site(vm::SiteId id) {
  std::lock_guard<std::mutex> lock(sites_mutex);
  return id < sites.size() ? sites[id] : Site{};
}

vm::SiteId site_named(const std::string& file, int line) {
  std::lock_guard<std::mutex> lock(sites_mutex);
  auto [entry, added] = known_sites.try_emplace({file, line}, sites.size());
  if (added) sites.push_back({file, line});
  return entry->second;
}

PyObject* site_tuple(vm::SiteId id) {
  if (id == 0) return Py_NewRef(Py_None);
  const Site known = site(id);
  return Py_BuildValue("(si)", known.file.c_str(), known.line);
}

std::string format_site(vm::SiteId id) {
  const Site known = site(id);
  return known.file.empty() ? "an unknown place" : known.file + ":" + std::to_string(known.line);
}

void set_package_dir(const std::string& path) { package_dir = path; }

}  // namespace ofl::python
