/* PTX ISA, "Video Instructions": those on all bytes or halves of a word, and those on one number.
 *
 * A number is a word, or a byte or half of one, with the sign of its operand's type. Intermediate results
 * have enough bits for every value. `mode` is the operation, `imm` holds what is selected of the operands. */
#include "machine/instructions/operation.h"

enum { A_SIGNED = 1, B_SIGNED = 2, D_SIGNED = 4, SAT = 8, ADD = 16 };
enum VideoOp { V_ADD, V_SUB, V_AVRG, V_ABSDIFF, V_MIN, V_MAX, V_SET, V_SHL, V_SHR, V_MAD };
enum { SECOND_ADD = 1, SECOND_MIN, SECOND_MAX };
enum { WRAP = 1 << 14, NEGATED = 1 << 17 };
enum { WORD = 32 };
__extension__ typedef __int128 Wide;

static inline s64 element(u32 x, u32 at, u32 bits, bool sign) {
  u32 up = x << (WORD - bits - at);
  return sign ? (s32)up >> (WORD - bits) : (s64)(up >> (WORD - bits));
}
static bool compared(s64 x, s64 y, u32 how) {
  switch (how) {
    case 0: return x == y;
    case 1: return x != y;
    case 2: return x < y;
    case 3: return x <= y;
    case 4: return x > y;
    default: return x >= y;
  }
}
static inline s64 on_elements(s64 x, s64 y, u32 op) {
  switch (op) {
    case V_ADD: return x + y;
    case V_SUB: return x - y;
    case V_AVRG: return (x + y + (x + y >= 0)) >> 1;
    case V_ABSDIFF: return x < y ? y - x : x - y;
    case V_MIN: return x < y ? x : y;
    default: return x > y ? x : y;
  }
}
static inline s64 saturated(Wide r, u32 bits, bool sign) {
  s64 top = (s64)((1ull << (sign ? bits - 1 : bits)) - 1), low = sign ? -top - 1 : 0;
  return r > top ? top : r < low ? low : (s64)r;
}

/* Element k of the elements of a, the lowest first, and then those of b. */
static inline s64 chosen(u32 a, u32 b, u32 k, u32 bits, bool sign) {
  u32 each = WORD / bits;
  return element(k < each ? a : b, k % each * bits, bits, sign);
}

/* `count` has the bits of an element; `imm` three bits for each element of a and, << 12, of b; << 24, a mask
 * of the elements to write, the others are c's; << 28, how to compare. With .add the results are added to c. */
static inline u32 video(u32 a, u32 b, u32 c, const Insn *i) {
  u32 bits = i->count, mask = (1u << bits) - 1, sum = c, merged = c;
  for (u32 k = 0; k < WORD / bits; k++) {
    if (!((u64)i->imm >> (24 + k) & 1)) continue;
    s64 x = chosen(a, b, (u64)i->imm >> 3 * k & 7, bits, i->flag & A_SIGNED);
    s64 y = chosen(a, b, (u64)i->imm >> (12 + 3 * k) & 7, bits, i->flag & B_SIGNED);
    s64 r = i->mode == V_SET ? compared(x, y, (u64)i->imm >> 28 & 7) : on_elements(x, y, i->mode);
    if (i->flag & SAT) r = saturated(r, bits, i->flag & D_SIGNED);
    sum += (u32)r;
    merged = (merged & ~(mask << k * bits)) | ((u32)r & mask) << k * bits;
  }
  return i->flag & ADD ? sum : merged;
}
OP3(video, u32, u32, u32, u32, video(a, b, c, i))

/* The place of .b0 to .b3, .h0 or .h1 in a word, which are 1 to 6; 0 is the word. */
static inline u32 part_bits(u32 part) { return part == 0 ? WORD : part < 5 ? 8 : 16; }
static inline u32 part_at(u32 part) { return part == 0 ? 0 : part < 5 ? 8 * (part - 1) : 16 * (part - 5); }
static inline s64 part_of(u32 x, u32 part, bool sign) { return element(x, part_at(part), part_bits(part), sign); }

/* (a * b + c) >> scale; the result has a sign where a factor has. */
static inline u32 video_mad(s64 x, s64 y, u32 c, const Insn *i) {
  u64 how = (u64)i->imm;
  bool sign = i->flag & (A_SIGNED | B_SIGNED);
  u32 scale = how >> 15 & 3;
  Wide r = (Wide)x * y;
  if (how & NEGATED) r = -r;
  r += sign ? (s64)(s32)c : (s64)c;
  r >>= scale == 1 ? 7 : scale == 2 ? 15 : 0;
  return (u32)(i->flag & SAT ? saturated(r, WORD, sign) : (s64)r);
}

/* `imm`: three bits for the parts of a, b and d; << 9, the secondary operation; << 11, how to compare. */
static inline u32 video_scalar(u32 a, u32 b, u32 c, const Insn *i) {
  u64 how = (u64)i->imm;
  u32 to = how >> 6 & 7, second = how >> 9 & 3;
  bool sign = i->flag & D_SIGNED;
  s64 r, x = part_of(a, how & 7, i->flag & A_SIGNED), y = part_of(b, how >> 3 & 7, i->flag & B_SIGNED);
  if (i->mode == V_MAD) return video_mad(x, y, c, i);
  if (i->mode == V_SET) r = compared(x, y, how >> 11 & 7);
  else if (i->mode == V_SHL || i->mode == V_SHR) {
    u32 by = how & WRAP ? (u32)y & (WORD - 1) : y > WORD ? WORD : (u32)y;
    r = i->mode == V_SHL ? x * (1ll << by) : x >> by;
  } else r = on_elements(x, y, i->mode);
  if (i->flag & SAT) r = saturated(r, part_bits(to), sign);
  s64 other = sign ? (s64)(s32)c : (s64)c;
  if (second == SECOND_ADD) r += other;
  else if (second) r = on_elements(r, other, second == SECOND_MIN ? V_MIN : V_MAX);
  if (!to) return (u32)r;
  u32 mask = ((1u << part_bits(to)) - 1) << part_at(to);
  return (c & ~mask) | ((u32)r << part_at(to) & mask);
}
OP3(video_scalar, u32, u32, u32, u32, video_scalar(a, b, c, i))
