/* PTX ISA, "Data Movement": cvt. The frequent ones are written out; convert() does the rest:
 * `size` and `count` hold the source and destination types (class << 4 | bytes), `flag` and
 * `width` the bytes of their registers, `mode` the rounding, `imm` the modifiers. */
#include "machine/instructions/float.h"
#include "machine/memory.h"

OP1(cvt_s64_s32, s64, s32, a)
OP1(cvt_u64_u32, u64, u32, a)
OP1(cvt_u32_u64, u32, u64, a)
OP1(cvt_f32_s32, f32, s32, (f32)a)
OP1(cvt_f64_f32, f64, f32, (f64)a)

enum Class { UNSIGNED, SIGNED, FLOAT, BRAIN };
enum { SAT = 1, FLUSH = 2, RELU = 4 };
enum Rounding { RN, RZ, RM, RP, RNI, RZI, RMI, RPI };

static s64 extend(u64 x, u32 bytes, bool sign) {
  if (bytes == 8) return (s64)x;
  u32 up = 64 - 8 * bytes;
  return sign ? (s64)(x << up) >> up : (s64)(x << up >> up);
}

static f64 to_integral(f64 x, u32 mode) {
  switch (mode) {
    case RZI: case RZ: return trunc(x);
    case RMI: case RM: return floor(x);
    case RPI: case RP: return ceil(x);
    default: return nearbyint(x);
  }
}

/* Out of range clamps; NaN gives 0, or the top bit alone where either side has 64 bits. */
static u64 float_to_int(f64 x, bool wide, u32 bytes, bool sign, u32 mode) {
  if (x != x) return wide || bytes == 8 ? 1ull << (8 * bytes - 1) : 0;
  x = to_integral(x, mode);
  if (sign) {
    f64 top = ldexp(1, (int)(8 * bytes - 1));
    if (x >= top) return (1ull << (8 * bytes - 1)) - 1;
    if (x < -top) return ~0ull << (8 * bytes - 1);
    return (u64)(s64)x;
  }
  if (x <= 0) return 0;
  if (x >= ldexp(1, (int)(8 * bytes))) return bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
  return (u64)x;
}

static const int ROUNDING[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static u64 to_float(f64 x, u32 type, u32 mode, u32 mods) {
  u32 bytes = type & 15, brain = type >> 4 == BRAIN;
  if (mods & SAT) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if (mods & RELU && x < 0) x = 0;
  if (bytes == 8) return bits64(x);
  if (bytes == 2) return f64_to_half(x, (int)brain, ROUNDING[mode & 3]);
  volatile f32 r = (f32)x;
  if (mods & FLUSH && fabsf(r) < 0x1p-126f) return bits32(copysignf(0.0f, r));
  return bits32(one_nan(r));
}
static f64 from_float(u64 x, u32 type, u32 mods) {
  u32 bytes = type & 15;
  if (bytes == 8) return f64_of(x);
  if (bytes == 2) return half_to_f64((u16)x, type >> 4 == BRAIN);
  f32 v = f32_of((u32)x);
  if (mods & FLUSH && fabsf(v) < 0x1p-126f) v = copysignf(0.0f, v);
  return (f64)v;
}

/* An integer as a double whose last bit is sticky: it is set when a bit was lost, so that rounding
 * to half happens once. */
static f64 sticky(s64 v, bool sign) {
  bool negative = sign && v < 0;
  u64 m = negative ? -(u64)v : (u64)v, lost = m >> 53 ? (1ull << (11 - __builtin_clzll(m))) - 1 : 0;
  if (m & lost) m = (m & ~lost) | (lost + 1);
  return negative ? -(f64)m : (f64)m;
}

static u64 int_to_float(u64 x, u32 from, u32 to, u32 mode, u32 mods) {
  s64 v = extend(x, from & 15, from >> 4 == SIGNED);
  volatile f32 f;
  if (!v) return 0; /* compilers may subtract two equal numbers here: -0 where rounding is down */
  if ((to & 15) == 4 && !(mods & SAT)) {
    f = from >> 4 == SIGNED ? (f32)v : (f32)(u64)v;
    return bits32(f);
  }
  if ((to & 15) == 2) return to_float(sticky(v, from >> 4 == SIGNED), to, mode, mods);
  volatile f64 d = from >> 4 == SIGNED ? (f64)v : (f64)(u64)v;
  return to_float(d, to, mode, mods);
}

static u64 int_to_int(u64 x, u32 from, u32 to, u32 mods) {
  bool signed_from = from >> 4 == SIGNED, signed_to = to >> 4 == SIGNED;
  u32 bytes = to & 15;
  s64 v = extend(x, from & 15, signed_from);
  if (mods & SAT) {
    __int128 t = signed_from ? (__int128)v : (__int128)(u64)v;
    __int128 top = ((__int128)1 << (8 * bytes - (signed_to ? 1 : 0))) - 1;
    __int128 low = signed_to ? -top - 1 : 0;
    v = (s64)(t > top ? top : t < low ? low : t);
  }
  return (u64)extend((u64)v, bytes, signed_to);
}

void ptx_convert(Warp *w, const Insn *i) {
  u32 from = i->size, to = i->count, mods = (u32)i->imm, mode = i->mode;
  bool float_from = from >> 4 >= FLOAT, float_to = to >> 4 >= FLOAT;
  bool exact_rounding = mode < RNI && float_to;
  if (exact_rounding) fesetround(ROUNDING[mode]);
  for (u32 l = 0; l < LANES; l++) {
    if (!w->lane[l]) continue;
    u64 x = register_lane(w, i->a, i->flag, l), r;
    if (!float_from && !float_to) {
      r = int_to_int(x, from, to, mods);
    } else if (float_from && !float_to) {
      r = float_to_int(from_float(x, from, mods), (from & 15) == 8, to & 15, to >> 4 == SIGNED, mode);
      r = (u64)extend(r, to & 15, to >> 4 == SIGNED);
    } else if (!float_from) {
      r = int_to_float(x, from, to, mode, mods);
    } else {
      f64 v = from_float(x, from, mods);
      r = to_float(mode >= RNI ? to_integral(v, mode) : v, to, mode, mods);
    }
    set_register_lane(w, i->d, i->width, l, r);
  }
  if (exact_rounding) fesetround(FE_TONEAREST);
}

/* cvt.{f16x2,bf16x2}.f32 d, a, b: a in the high half. */
static u32 pack_halves(f32 a, f32 b, u32 type, u32 mode, u32 mods) {
  return (u32)to_float((f64)a, type, mode, mods) << 16 | (u32)to_float((f64)b, type, mode, mods);
}
OP2(convert_pair, u32, f32, f32, pack_halves(a, b, i->count, i->mode, (u32)i->imm))

/* tf32: the upper 19 bits of a single-precision number. rna rounds ties away from zero. */
static inline u32 to_tf32(u32 x, u32 half) {
  if ((x & 0x7FFFFFFF) > 0x7F800000) return 0x7FFFFFFF;
  return (x & 0x7F800000) == 0x7F800000 ? x : (x + half) & ~0x1FFFu;
}
OP1(cvt_rna_tf32_f32, u32, u32, to_tf32(a, 0x1000))
OP1(cvt_rn_tf32_f32, u32, u32, to_tf32(a, 0xFFF + (a >> 13 & 1)))
OP1(cvt_rz_tf32_f32, u32, u32, to_tf32(a, 0))
