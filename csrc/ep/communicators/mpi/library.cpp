#include "ep/communicators/mpi/library.h"

#include <dlfcn.h>

#include <numeric>
#include <vector>

#include "base/error.h"

namespace ofl::ep::mpi {

void find_functions(const std::string& shared_object, Library* library) {
  void* const loaded = dlopen(shared_object.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!loaded) fail(ErrorKind::runtime, "[mpi] ", shared_object, " is not loaded");
  const auto find = [&](auto* function, const char* name) {
    // As POSIX has it: a pointer to an object that is the address of a function.
    *reinterpret_cast<void**>(function) = dlsym(loaded, name);
    if (!*function) fail(ErrorKind::runtime, "[mpi] ", shared_object, " has no ", name);
  };
  find(&library->isend, "MPI_Isend");
  find(&library->irecv, "MPI_Irecv");
  find(&library->test, "MPI_Test");
  find(&library->cancel, "MPI_Cancel");
  find(&library->test_cancelled, "MPI_Test_cancelled");
  find(&library->error_string, "MPI_Error_string");
  if (!dlsym(loaded, "MPIX_Comm_get_failed")) return;
  find(&library->failed, "MPIX_Comm_get_failed");
  find(&library->group, "MPI_Comm_group");
  find(&library->group_size, "MPI_Group_size");
  find(&library->translate, "MPI_Group_translate_ranks");
  find(&library->free_group, "MPI_Group_free");
}

std::string dead_ranks(const Library& library) {
  Handle dead = 0, all = 0;
  if (!library.failed || library.failed(library.communicator, &dead) != 0) return "";
  std::string text;
  int count = 0;
  if (library.group_size(dead, &count) == 0 && count > 0 &&
      library.group(library.communicator, &all) == 0) {
    std::vector<int> places(static_cast<size_t>(count)), ranks(places.size());
    std::iota(places.begin(), places.end(), 0);
    if (library.translate(dead, count, places.data(), all, ranks.data()) == 0) {
      for (const int rank : ranks) text += concat(text.empty() ? "rank " : ", ", rank);
    }
    library.free_group(&all);
  }
  library.free_group(&dead);
  return text;
}

void require_success(const Library& library, int code, const char* function) {
  if (code == 0) return;
  constexpr int kLongest = 8192;  // more than any library's MPI_MAX_ERROR_STRING
  std::string text(kLongest, '\0');
  int length = 0;
  if (library.error_string(code, text.data(), &length) != 0) length = 0;
  text.resize(static_cast<size_t>(length));
  fail(ErrorKind::runtime, "[mpi] ", function, ": error ", code, ": ", text);
}

}  // namespace ofl::ep::mpi
