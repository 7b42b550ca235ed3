/* Vectors of eight lanes, and the pattern of their addresses: threads mostly access consecutive words
 * or all the same one, and then one vector moves eight words, or their shadow, at once. */
#ifndef MACHINE_VECTOR_H
#define MACHINE_VECTOR_H
#include <string.h>
#include "machine/warp.h"

enum { GROUP = 8 };
enum Pattern { APART, STEP, SAME }; /* of words: neither, consecutive, one for all */
typedef u32 Eight __attribute__((vector_size(32)));
typedef s32 EightMask __attribute__((vector_size(32)));
#define ASCENDING ((Eight){0, 1, 2, 3, 4, 5, 6, 7})

static inline void eight(Eight *v, const u32 *p) { memcpy(v, p, sizeof *v); }
static inline void put_eight(u32 *p, const Eight *v) { memcpy(p, v, sizeof *v); }

static inline bool is_zero(const Eight *v) {
#ifdef __AVX2__ /* of GCC and Clang: their immintrin.h takes a quarter of a second to read */
  typedef long long Four __attribute__((vector_size(32)));
  return __builtin_ia32_ptestz256((Four)*v, (Four)*v);
#else
  u32 any = 0;
  for (int k = 0; k < GROUP; k++) any |= (*v)[k];
  return !any;
#endif
}
static inline bool all_true(const EightMask *m) {
  Eight v = (Eight)~*m;
  return is_zero(&v);
}

/* The pattern of a group's offsets of 4-byte words. */
static inline enum Pattern pattern_of(const u32 *offset) {
  Eight o;
  eight(&o, offset);
  Eight apart = o ^ (offset[0] + 4 * ASCENDING), differ = o ^ offset[0];
  return is_zero(&apart) ? STEP : is_zero(&differ) ? SAME : APART;
}

#endif
