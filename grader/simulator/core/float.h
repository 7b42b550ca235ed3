/* What a float operation gives on the hardware where IEEE 754 leaves it open. */
#ifndef FLOAT_H
#define FLOAT_H
#include <math.h>
#include <string.h>
#include "lanes.h"

static inline f32 f32_of(u32 b) { f32 x; memcpy(&x, &b, 4); return x; }
static inline u32 bits32(f32 x) { u32 b; memcpy(&b, &x, 4); return b; }
static inline f64 f64_of(u64 b) { f64 x; memcpy(&x, &b, 8); return x; }
static inline u64 bits64(f64 x) { u64 b; memcpy(&b, &x, 8); return b; }

/* Single precision has one NaN, 0x7fffffff. */
static inline f32 one_nan(f32 x) { return x == x ? x : f32_of(0x7FFFFFFF); }

/* .ftz takes subnormal operands for zeros. */
static inline f32 flushed(f32 x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }

static inline f32 min_f(f32 a, f32 b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  return a < b || (a == b && bits32(a) >> 31) ? a : b;
}
static inline f32 max_f(f32 a, f32 b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  return a > b || (a == b && !(bits32(a) >> 31)) ? a : b;
}
static inline f64 min_d(f64 a, f64 b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && bits64(a) >> 63) ? a : b;
}
static inline f64 max_d(f64 a, f64 b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && !(bits64(a) >> 63)) ? a : b;
}
#endif
