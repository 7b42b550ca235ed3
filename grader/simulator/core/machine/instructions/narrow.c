/* PTX ISA, "Data Movement": cvt between pairs of numbers of 8 bits (e4m3, e5m2) and floats, and cvt.pack.
 * `imm` has E5M2 and RELU. Rounding is to nearest even, and what is too large becomes the largest number. */
#include "machine/instructions/float.h"
#include "machine/instructions/operation.h"

enum { RELU = 2 };
enum { NARROW_NAN = 0x7F };

static int fraction_bits(u64 flags) { return flags & E5M2 ? 2 : 3; }
static int least_exponent(u64 flags) { return flags & E5M2 ? -14 : -6; }

static u32 narrow(f64 x, u64 flags) {
  f64 most = flags & E5M2 ? 57344 : 448, size = fabs(x) < most ? fabs(x) : most;
  u32 sign = signbit(x) ? 0x80 : 0;
  int e, fraction = fraction_bits(flags), least = least_exponent(flags);
  if (x != x) return NARROW_NAN;
  if (flags & RELU && sign) return 0;
  (void)frexp(size, &e);
  e = size == 0 || e - 1 < least ? least : e - 1;
  return sign | ((u32)nearbyint(ldexp(size, fraction - e)) + ((u32)(e - least) << fraction));
}

u32 widen_float8(u32 code, u64 flags) {
  int fraction = fraction_bits(flags);
  u32 size = code & 0x7F, above = flags & E5M2 ? 0x7C : NARROW_NAN; /* infinity, or the only NaN */
  int e = (int)(size >> fraction);
  if (size > above || (size == above && !(flags & E5M2))) return HALF_NAN;
  if (flags & RELU && code & 0x80) return 0;
  f64 x = (f64)(size & ((1u << fraction) - 1)) + (e ? 1u << fraction : 0);
  x = size == above ? INFINITY : ldexp(x, (e ? e - 1 : 0) + least_exponent(flags) - fraction);
  return f64_to_half(code & 0x80 ? -x : x, 0, FE_TONEAREST);
}

static u32 narrow_half(u32 h, u64 flags) { return narrow(half_to_f64((u16)h, 0), flags); }

OP2(narrow_f32, u16, f32, f32, narrow((f64)a, (u64)i->imm) << 8 | narrow((f64)b, (u64)i->imm))
OP1(narrow_f16x2, u16, u32, narrow_half(a >> 16, (u64)i->imm) << 8 | narrow_half(a, (u64)i->imm))
OP1(widen_f16x2, u32, u16, widen_float8(a >> 8, (u64)i->imm) << 16 | widen_float8(a & 255, (u64)i->imm))

/* `count` has the bits of a part, `flag` whether it is signed. */
static u32 packed(s32 x, const Insn *i) {
  u32 mask = (1u << i->count) - 1;
  s32 top = (s32)(i->flag ? mask >> 1 : mask), low = i->flag ? -top - 1 : 0;
  return (u32)(x > top ? top : x < low ? low : x) & mask;
}
static u32 pack(s32 a, s32 b, u32 c, const Insn *i) {
  u32 above = i->count == 16 ? 0 : c << (2 * i->count);
  return above | packed(a, i) << i->count | packed(b, i);
}
OP3(pack_integers, u32, s32, s32, u32, pack(a, b, c, i))
