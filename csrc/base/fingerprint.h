// Fingerprints: hashes of values that are the same in each process.
#pragma once

#include <cstdint>

namespace ofl {

/// FNV-1a, 64 bits, over whole words; http://www.isthe.com/chongo/tech/comp/fnv
class Fingerprint {
 public:
  void add(uint64_t word) {
    for (int byte = 0; byte < 8; ++byte, word >>= 8) value_ = (value_ ^ (word & 0xff)) * kPrime;
  }
  template <typename Numbers>
  void add_all(const Numbers& numbers) {
    add(static_cast<uint64_t>(numbers.size()));
    for (const auto number : numbers) add(static_cast<uint64_t>(number));
  }
  uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace ofl
