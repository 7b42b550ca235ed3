/* The parameter areas of a warp's lanes. A word of all lanes is one vector, so that a parameter mostly is
 * moved as a vector: byte `at` of a lane lies in its word of vector at / 4. */
#ifndef MACHINE_PARAMS_H
#define MACHINE_PARAMS_H
#include <string.h>
#include "machine/warp.h"

enum { PARAM_WORD = 4 };

static inline u32 *param_words(const Warp *w, u32 at) { return (u32 *)(w->params + (size_t)(at / PARAM_WORD) * PARAM_WORD * LANES); }
static inline u8 *param_byte(const Warp *w, u32 lane, u32 at) {
  return (u8 *)(param_words(w, at) + lane) + at % PARAM_WORD;
}

static inline u64 get_param(const Warp *w, u32 lane, u32 at, u32 bytes) {
  u64 x = 0;
  for (u32 k = 0; k < bytes; k++) x |= (u64)*param_byte(w, lane, at + k) << 8 * k;
  return x;
}
static inline void put_param(const Warp *w, u32 lane, u32 at, u64 x, u32 bytes) {
  for (u32 k = 0; k < bytes; k++) *param_byte(w, lane, at + k) = (u8)(x >> 8 * k);
}

/* Copies parameters of some lanes from one frame's area to another's. */
static inline void copy_param(const Warp *w, u32 from, u32 to, u32 bytes, u32 lanes) {
  u32 done = 0, mask[LANES];
  EACH_LANE { mask[l] = lanes >> l & 1 ? FULL : 0; }
  for (; !((from | to) % PARAM_WORD) && done + PARAM_WORD <= bytes; done += PARAM_WORD) {
    const u32 *s = param_words(w, from + done);
    u32 *d = param_words(w, to + done);
    EACH_LANE { d[l] = (s[l] & mask[l]) | (d[l] & ~mask[l]); }
  }
  for (u32 m = done < bytes ? lanes : 0; m; m &= m - 1)
    for (u32 k = done; k < bytes; k++)
      *param_byte(w, first_lane(m), to + k) = *param_byte(w, first_lane(m), from + k);
}

#endif
