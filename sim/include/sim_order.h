// In which order blocks and threads take their turns: a device fixes none.
#ifndef SIM_ORDER_H_
#define SIM_ORDER_H_

namespace sim {

/// The next of a stream of random numbers (xorshift64, G. Marsaglia 2003); 0 has no next.
inline unsigned long long next_random(unsigned long long& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/// A permutation of 0 to count - 1: ascending, or a random one of those with a constant step.
class Order {
 public:
  Order(unsigned long long count, unsigned long long& random) : count_(count) {
    if (random == 0 || count < 2) return;
    next_ = next_random(random) % count;
    do {
      step_ = next_random(random) % count;
    } while (!is_coprime(step_, count));
  }

  unsigned long long next() {
    const unsigned long long index = next_;
    next_ += step_;
    if (next_ >= count_) next_ -= count_;
    return index;
  }

 private:
  static bool is_coprime(unsigned long long a, unsigned long long b) {
    while (b != 0) {
      const unsigned long long remainder = a % b;
      a = b;
      b = remainder;
    }
    return a == 1;
  }

  const unsigned long long count_;
  unsigned long long next_ = 0, step_ = 1;
};

}  // namespace sim

#endif
