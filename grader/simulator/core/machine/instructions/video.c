/* PTX ISA, "Video Instructions": those on all bytes or halves of a word. */
#include "machine/instructions/operation.h"

enum { A_SIGNED = 1, B_SIGNED = 2, D_SIGNED = 4, SAT = 8, ADD = 16 };
enum VideoOp { V_ADD, V_SUB, V_AVRG, V_ABSDIFF, V_MIN, V_MAX };

static inline s32 element(u32 x, u32 at, u32 bits, bool sign) {
  u32 up = x << (32 - bits - at);
  return sign ? (s32)up >> (32 - bits) : (s32)(up >> (32 - bits));
}
static inline s32 on_elements(s32 x, s32 y, u32 op) {
  switch (op) {
    case V_ADD: return x + y;
    case V_SUB: return x - y;
    case V_AVRG: return (x + y + (x + y >= 0)) >> 1;
    case V_ABSDIFF: return x < y ? y - x : x - y;
    case V_MIN: return x < y ? x : y;
    default: return x > y ? x : y;
  }
}
/* `count` has the bits of an element, `mode` the operation. With .add the results are added to c. */
static inline u32 video(u32 a, u32 b, u32 c, const Insn *i) {
  u32 bits = i->count, mask = (1u << bits) - 1, sum = c, merged = 0;
  s32 top = (s32)(i->flag & D_SIGNED ? mask >> 1 : mask), low = i->flag & D_SIGNED ? -top - 1 : 0;
  for (u32 at = 0; at < 32; at += bits) {
    s32 x = element(a, at, bits, i->flag & A_SIGNED), y = element(b, at, bits, i->flag & B_SIGNED);
    s32 r = on_elements(x, y, i->mode);
    if (i->flag & SAT) r = r > top ? top : r < low ? low : r;
    sum += (u32)r;
    merged |= ((u32)r & mask) << at;
  }
  return i->flag & ADD ? sum : merged;
}
OP3(video, u32, u32, u32, u32, video(a, b, c, i))
