/* PTX ISA, "Data Movement": ld and st of the parameters of device functions, which are in each lane's own
 * area at fixed offsets. */
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/params.h"

/* A value that lies within one word of the area, or is two whole ones. */
static bool is_whole(u32 at, u32 size) {
  return size == 8 ? at % PARAM_WORD == 0 : at % PARAM_WORD + size <= PARAM_WORD;
}

#define TAKE(T, X)                                          \
  do {                                                      \
    T *d = DST(T, ref);                                     \
    EACH_LANE { T x = (T)(X); d[l] = w->lane[l] ? x : d[l]; } \
  } while (0)

static void load_word(Warp *w, u32 ref, u32 width, u32 at, u32 size, bool sign) {
  const u32 *p = param_words(w, at), low = 8 * (PARAM_WORD - size - at % PARAM_WORD), high = 8 * (PARAM_WORD - size);
  if (sign && width == 2) TAKE(u16, (s32)(p[l] << low) >> high);
  else if (sign && width == 4) TAKE(u32, (s32)(p[l] << low) >> high);
  else if (sign) TAKE(u64, (s64)((s32)(p[l] << low) >> high));
  else if (width == 2) TAKE(u16, p[l] << low >> high);
  else if (width == 4) TAKE(u32, p[l] << low >> high);
  else TAKE(u64, p[l] << low >> high);
}

/* The decoder refuses a register that is narrower than what it loads. */
static void load_two_words(Warp *w, u32 ref, u32 at) {
  const u32 *p = param_words(w, at), *q = p + LANES;
  TAKE(u64, p[l] | (u64)q[l] << 32);
}

void ptx_ld_param(Warp *w, const Insn *i) {
  u32 at = w->frame[w->top].params + (u32)i->imm, bits = 8 * i->size;
  bool sign = i->flag & 1;
  for (u32 k = 0; k < i->count; k++, at += i->size) {
    u32 ref = result_operand(i, k);
    if (is_whole(at, i->size)) {
      if (i->size == 8) load_two_words(w, ref, at);
      else load_word(w, ref, i->width, at, i->size, sign);
      continue;
    }
    for (u32 m = w->mask; m; m &= m - 1) {
      u64 x = get_param(w, first_lane(m), at, i->size);
      if (sign && bits < 64) x = (u64)((s64)(x << (64 - bits)) >> (64 - bits));
      set_register_lane(w, ref, i->width, first_lane(m), x);
    }
  }
}

#define PUT(T)                                                                                   \
  do {                                                                                           \
    const T *v = SRC(T, ref);                                                                    \
    EACH_LANE { u32 take = w->lane[l] & field; p[l] = ((u32)v[l] << shift & take) | (p[l] & ~take); } \
  } while (0)

static void store_word(Warp *w, u32 ref, u32 width, u32 at, u32 size) {
  u32 *p = param_words(w, at), shift = 8 * (at % PARAM_WORD), field = (FULL >> 8 * (PARAM_WORD - size)) << shift;
  if (width == 2) PUT(u16);
  else if (width == 4) PUT(u32);
  else PUT(u64);
}

static void store_two_words(Warp *w, u32 ref, u32 at) {
  const u64 *v = SRC(u64, ref);
  u32 *p = param_words(w, at), *q = p + LANES;
  EACH_LANE {
    u32 low = (u32)v[l], high = (u32)(v[l] >> 32);
    p[l] = w->lane[l] ? low : p[l];
    q[l] = w->lane[l] ? high : q[l];
  }
}

void ptx_st_param(Warp *w, const Insn *i) {
  u32 at = w->frame[w->top].params + (u32)i->imm;
  for (u32 k = 0; k < i->count; k++, at += i->size) {
    u32 ref = result_operand(i, k);
    if (is_whole(at, i->size) && (i->size < 8 || i->width == 8)) {
      if (i->size == 8) store_two_words(w, ref, at);
      else store_word(w, ref, i->width, at, i->size);
      continue;
    }
    for (u32 m = w->mask; m; m &= m - 1)
      put_param(w, first_lane(m), at, register_lane(w, ref, i->width, first_lane(m)), i->size);
  }
}
