// The parts that loops over LAPACK's routines are made of: matrices as a loop gets them and as a
// routine wants them, the memory that a routine works in, and how a failure is told.
#pragma once

#include <algorithm>
#include <cfenv>
#include <initializer_list>
#include <limits>
#include <memory>
#include <type_traits>

#include "ops/op_def.h"
#include "ops/product/lapack_call.h"

namespace ofl::ops {

/// A ufunc of NumPy's, and the loops that stand for its own.
struct LapackRow {
  const char* ufunc;
  LoopFn real, complex;
};

struct LapackRows {
  const LapackRow *begin, *end;
};

LapackRows solving_rows();     // lapack_solving.cpp
LapackRows orthogonal_rows();  // lapack_orthogonal.cpp
LapackRows spectral_rows();    // lapack_spectral.cpp

/// Elements in any state.
template <typename T>
class Elements {
 public:
  explicit Elements(int64_t count) : memory_(new char[std::max<int64_t>(count, 1) * sizeof(T)]) {}
  T* data() const { return reinterpret_cast<T*>(memory_.get()); }
  T& operator[](int64_t i) const { return data()[i]; }

 private:
  std::unique_ptr<char[]> memory_;
};

/// A matrix, a column or a number as a loop gets it; steps in bytes.
struct View {
  char* data;
  intptr_t row_step, column_step;

  template <typename T>
  T& at(int64_t row, int64_t column = 0) const {
    return *reinterpret_cast<T*>(data + row * row_step + column * column_step);
  }
  View transposed() const { return {data, column_step, row_step}; }
};

/// The operands of a loop, by how many core dimensions each has.
class LoopOperands {
 public:
  LoopOperands(char** args, const intptr_t* steps, std::initializer_list<int> cores) {
    const intptr_t* core = steps + cores.size();
    for (const int dims : cores) {
      operands_[count_] = {args[count_], dims > 0 ? core[0] : 0, dims > 1 ? core[1] : 0};
      steps_[count_] = steps[count_];
      ++count_;
      core += dims;
    }
  }
  /// Operand k of matrix i of the batch.
  View at(int k, intptr_t i) const {
    const View& first = operands_[k];
    return {first.data + i * steps_[k], first.row_step, first.column_step};
  }

 private:
  static constexpr int kMost = 7;
  View operands_[kMost];
  intptr_t steps_[kMost];
  int count_ = 0;
};

/// A matrix in the order of LAPACK, column after column.
template <typename T>
class Columns {
 public:
  Columns(int64_t rows, int64_t columns) : rows_(rows), columns_(columns), items_(rows * columns) {}

  T* data() const { return items_.data(); }
  T& at(int64_t row, int64_t column) const { return items_[column * rows_ + row]; }
  int lead() const { return static_cast<int>(std::max<int64_t>(rows_, 1)); }

  void take(const View& from) const { take(from, rows_, columns_); }
  /// The first rows and columns.
  void take(const View& from, int64_t rows, int64_t columns) const {
    copy<true>(from, rows, columns);
  }
  void give(const View& to) const { give(to, rows_, columns_); }
  void give(const View& to, int64_t rows, int64_t columns) const { copy<false>(to, rows, columns); }
  void fill(T value) { std::fill_n(data(), rows_ * columns_, value); }
  void fill_identity() {
    fill(T(0));
    for (int64_t i = 0; i < std::min(rows_, columns_); ++i) at(i, i) = T(1);
  }

 private:
  static constexpr int64_t kAtOnce = 4;

  template <bool Taking>
  static void move(T* ours, T* theirs) {
    Taking ? * ours = *theirs : * theirs = *ours;
  }

  /// Some columns at a time, as the lines of the cache go across them: through registers where
  /// those of the other matrix are side by side.
  template <bool Taking>
  void copy(const View& other, int64_t rows, int64_t columns) const {
    const bool beside = other.column_step == sizeof(T);
    for (int64_t first = 0; first < columns; first += kAtOnce) {
      const int64_t end = std::min(columns, first + kAtOnce);
      int64_t i = 0;
      for (; beside && end - first == kAtOnce && i + kAtOnce <= rows; i += kAtOnce) {
        copy_square<Taking>(&at(i, first), &other.at<T>(i, first), other.row_step);
      }
      for (; i < rows; ++i) {
        for (int64_t j = first; j < end; ++j) move<Taking>(&at(i, j), &other.at<T>(i, j));
      }
    }
  }

  template <bool Taking>
  void copy_square(T* ours, T* theirs, intptr_t row_step) const {
    T square[kAtOnce][kAtOnce];  // of a row, of a column
    const View rows{reinterpret_cast<char*>(theirs), row_step, sizeof(T)};
    for (int i = 0; i < kAtOnce; ++i) {
      for (int j = 0; j < kAtOnce; ++j) {
        Taking ? square[i][j] = rows.at<T>(i, j) : square[j][i] = ours[i * rows_ + j];
      }
    }
    for (int i = 0; i < kAtOnce; ++i) {
      for (int j = 0; j < kAtOnce; ++j) {
        Taking ? ours[i * rows_ + j] = square[j][i] : rows.at<T>(i, j) = square[i][j];
      }
    }
  }

  const int64_t rows_, columns_;
  Elements<T> items_;
};

/// The memory that a routine wants. `call(this)` runs the routine; it does so once to ask for the
/// sizes, and they are at least those that are given.
template <typename T>
struct Workspace {
  template <typename Call>
  Workspace(const Call& call, int64_t least_reals = 0, int64_t least_integers = 0) {
    T work_query{};
    double real_query = 0;
    int integer_query = 0;
    work = &work_query;
    reals = &real_query;
    integers = &integer_query;
    call(*this);
    const int64_t real_count = std::max(least_reals, static_cast<int64_t>(real_query));
    const int64_t integer_count = std::max<int64_t>(least_integers, integer_query);
    work_size = std::max(1, static_cast<int>(std::real(work_query)));
    reals_size = static_cast<int>(std::max<int64_t>(real_count, 1));
    integers_size = static_cast<int>(std::max<int64_t>(integer_count, 1));
    work = (own_work_ = Elements<T>(work_size)).data();
    reals = (own_reals_ = Elements<double>(real_count)).data();
    integers = (own_integers_ = Elements<int>(integer_count)).data();
  }

  T* work;
  double* reals;
  int* integers;
  int work_size = -1, reals_size = -1, integers_size = -1;

 private:
  Elements<T> own_work_{0};
  Elements<double> own_reals_{0};
  Elements<int> own_integers_{0};
};

/// Sets the thread's invalid flag after a loop: as before, or raised by a failure. Arithmetic
/// with NaN does not count.
class Outcome {
 public:
  ~Outcome() {
    std::feclearexcept(FE_INVALID);
    if (failed) std::feraiseexcept(FE_INVALID);
  }
  bool failed = std::fetestexcept(FE_INVALID) != 0;
};

template <typename T>
T not_a_number() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_floating_point_v<T>) {
    return nan;
  } else {
    return {nan, nan};
  }
}

/// A result of a failed call.
template <typename T>
void fill_nan(const View& to, int64_t rows, int64_t columns = 1) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to.at<T>(i, j) = not_a_number<T>();
  }
}

template <typename T>
void give_vector(const T* from, const View& to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to.at<T>(i) = from[i];
}

template <typename T>
void take_vector(const View& from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from.at<T>(i);
}

using Complex = std::complex<double>;

}  // namespace ofl::ops
