// Vector types and dim3.
#ifndef SIM_VECTORS_H_
#define SIM_VECTORS_H_

#define SIM_VECTOR(type, name, bytes1, bytes2, bytes4)                                  \
  struct name##1 { type x; };                                                           \
  struct __attribute__((aligned(bytes2))) name##2 { type x, y; };                       \
  struct name##3 { type x, y, z; };                                                     \
  struct __attribute__((aligned(bytes4))) name##4 { type x, y, z, w; };                 \
  inline constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  inline constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

SIM_VECTOR(signed char, char, 1, 2, 4)
SIM_VECTOR(unsigned char, uchar, 1, 2, 4)
SIM_VECTOR(short, short, 2, 4, 8)
SIM_VECTOR(unsigned short, ushort, 2, 4, 8)
SIM_VECTOR(int, int, 4, 8, 16)
SIM_VECTOR(unsigned, uint, 4, 8, 16)
SIM_VECTOR(long, long, 8, 16, 16)
SIM_VECTOR(unsigned long, ulong, 8, 16, 16)
SIM_VECTOR(long long, longlong, 8, 16, 16)
SIM_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
SIM_VECTOR(float, float, 4, 8, 16)
SIM_VECTOR(double, double, 8, 16, 16)
#undef SIM_VECTOR

struct dim3 {
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
  unsigned x, y, z;
};

#endif
