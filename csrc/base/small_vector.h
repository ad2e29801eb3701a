// A vector of trivially copyable values whose first N live inside it.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace ofl {

template <typename T, int N>
class SmallVector {
  static_assert(std::is_trivially_copyable<T>::value, "values are moved by memcpy");

 public:
  SmallVector() = default;
  explicit SmallVector(int size, T value = T{}) {
    resize(size);
    for (int i = 0; i < size; ++i) data_[i] = value;
  }
  SmallVector(std::initializer_list<T> values) {
    reserve(static_cast<int>(values.size()));
    for (const T& value : values) push_back(value);
  }
  SmallVector(const SmallVector& other) { assign(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int i) { return data_[i]; }
  const T& operator[](int i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& value) {
    const T copy = value;  // `value` may live inside this vector
    if (size_ == capacity_) reserve(2 * capacity_);
    data_[size_++] = copy;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// New elements are uninitialized.
  void resize(int size) {
    reserve(size);
    size_ = size;
  }
  void reserve(int capacity) {
    if (capacity <= capacity_) return;
    T* grown = new T[capacity];
    std::memcpy(static_cast<void*>(grown), data_, sizeof(T) * size_);
    const int size = size_;
    release();
    data_ = grown;
    capacity_ = capacity;
    size_ = size;
  }

  bool operator==(const SmallVector& other) const {
    if (size_ != other.size_) return false;
    for (int i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  bool operator!=(const SmallVector& other) const { return !(*this == other); }

 private:
  /// Without a call for the usual few values; what lies behind them is copied along.
  static constexpr bool kCopiesWhole = sizeof(T) * N <= 64;

  void assign(const SmallVector& other) {
    if (kCopiesWhole && other.size_ <= N) {  // every vector has room for N, and other.data_ has N
      std::memcpy(static_cast<void*>(data_), other.data_, sizeof(inline_));
      size_ = other.size_;
      return;
    }
    size_ = 0;
    reserve(other.size_);
    std::memcpy(static_cast<void*>(data_), other.data_, sizeof(T) * other.size_);
    size_ = other.size_;
  }
  void take(SmallVector& other) {
    if (other.data_ == other.inline_) {
      const size_t bytes = kCopiesWhole ? sizeof(inline_) : sizeof(T) * other.size_;
      std::memcpy(static_cast<void*>(inline_), other.inline_, bytes);
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = N;
    }
    size_ = other.size_;
    other.size_ = 0;
  }
  void release() {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    capacity_ = N;
    size_ = 0;
  }

  T* data_ = inline_;
  int size_ = 0;
  int capacity_ = N;
  T inline_[N];
};

}  // namespace ofl
