/* The results of floating-point operations that IEEE 754 leaves open, as the hardware gives them; and
 * the half types f16 (5 exponent bits, 10 of fraction) and bf16 (8 and 7), computed as doubles. */
#ifndef MACHINE_FLOAT_H
#define MACHINE_FLOAT_H
#include <fenv.h>
#include <math.h>
#include <string.h>
#include "machine/instructions/operation.h"

static inline f32 f32_of(u32 b) { f32 x; memcpy(&x, &b, 4); return x; }
static inline u32 bits32(f32 x) { u32 b; memcpy(&b, &x, 4); return b; }
static inline f64 f64_of(u64 b) { f64 x; memcpy(&x, &b, 8); return x; }
static inline u64 bits64(f64 x) { u64 b; memcpy(&b, &x, 8); return b; }

/* Single precision has one NaN, 0x7fffffff. */
static inline f32 one_nan(f32 x) { return x == x ? x : f32_of(0x7FFFFFFF); }

/* .ftz: a subnormal operand counts as zero. */
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

#define HALF_NAN 0x7FFF

static inline f64 half_to_f64(u16 h, int brain) {
  if (brain) return (f64)f32_of((u32)h << 16);
  u32 e = h >> 10 & 31, m = h & 1023;
  f64 v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);
  return h >> 15 ? -v : v;
}

/* One rounding from an exact double. `mode` is one of fenv.h's FE_... */
static inline u16 f64_to_half(f64 x, int brain, int mode) {
  int fraction = brain ? 7 : 10, low = brain ? -126 : -14, high = brain ? 127 : 15;
  u16 sign = (u16)(bits64(x) >> 63 << 15), inf = brain ? 0x7F80 : 0x7C00;
  if (x != x) return HALF_NAN;
  f64 m = fabs(x);
  if (isinf(x)) return sign | inf;
  int e;
  (void)frexp(m, &e);
  e = m == 0 || e - 1 < low ? low : e - 1;
  f64 scaled = ldexp(m, fraction - e), whole = floor(scaled), rest = scaled - whole;
  bool away = mode == (sign ? FE_DOWNWARD : FE_UPWARD);
  if (mode == FE_TONEAREST ? rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1) : away && rest > 0)
    whole += 1;
  u32 n = (u32)whole;
  if (n >> (fraction + 1)) { n >>= 1; e++; }
  if (e > high) return sign | (mode == FE_TONEAREST || away ? inf : inf - 1);
  u32 biased = n >> fraction ? (u32)(e - low + 1) : 0;
  return (u16)(sign | biased << fraction | (n & ((1u << fraction) - 1)));
}

/* narrow.c: the f16 of a number of 8 bits, e4m3 or, with the flag E5M2, e5m2. */
enum { E5M2 = 1 };
u32 widen_float8(u32 code, u64 flags);
#endif
