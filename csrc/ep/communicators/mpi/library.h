// The functions of the MPI library that the process has loaded. Libraries differ in what a handle
// is, and in the values of constants; both come from whoever has initialised the library.
#pragma once

#include <cstdint>
#include <string>

namespace ofl::ep::mpi {

/// Of a communicator, a datatype, a request: a pointer in some libraries, an int in others. The
/// processors that we build for pass both in one register, and an int is the lower half of a word.
using Handle = uintptr_t;

struct Library {
  int (*isend)(const void* data, int count, Handle type, int rank, int tag, Handle communicator,
               Handle* request);
  int (*irecv)(void* data, int count, Handle type, int rank, int tag, Handle communicator,
               Handle* request);
  int (*test)(Handle* request, int* is_done, void* status);
  int (*cancel)(Handle* request);
  int (*test_cancelled)(const void* status, int* is_cancelled);
  int (*error_string)(int code, char* text, int* length);
  // Of libraries that outlive the death of a rank (ULFM); all of them, or none.
  int (*failed)(Handle communicator, Handle* group);
  int (*group)(Handle communicator, Handle* group);
  int (*group_size)(Handle group, int* size);
  int (*translate)(Handle group, int count, const int* ranks, Handle into, int* found);
  int (*free_group)(Handle* group);

  Handle communicator;  // of all ranks, and of nobody else; errors are returned
  Handle byte;          // the datatype
  int any_source;
  int rank, size;
  int largest_tag;
};

/// Sets the functions to those that this shared object, which is loaded, calls. Error(runtime).
void find_functions(const std::string& shared_object, Library* library);

/// "rank 1, 3": those that the library knows to have died; empty: it knows of none.
std::string dead_ranks(const Library& library);

/// Error(runtime) with the library's words, unless it is a success.
void require_success(const Library& library, int code, const char* function);

}  // namespace ofl::ep::mpi
