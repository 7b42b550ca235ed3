/* f16 (5 exponent bits, 10 of fraction) and bf16 (8 and 7), by way of double. */
#ifndef HALF_H
#define HALF_H
#include <fenv.h>
#include "float.h"

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
#endif
