/* Registers that may hold no value yet: see shadow.py. A shadow is a predicate, 1 in the lanes
 * where its register is defined; a new frame's are all 0.
 *
 * These are no instructions of the program: they take no step, and mind the guard of the one they
 * run before by themselves. imm: that guard's operand + 1, or 0; << 32: 1 where it is negated. */
#include "core.h"

static u32 present(const Warp *w, const Insn *i) {
  u32 guard = (u32)i->imm;
  return guard ? w->mask & (*SRC(u32, guard - 1) ^ (i->imm >> 32 ? FULL : 0)) : w->mask;
}

static void put(Warp *w, const Insn *i, u32 r) {
  u32 m = present(w, i), *d = DST(u32, i->d);
  *d = (*d & ~m) | (r & m);
}

void ptx_shadow_copy(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a)); }
void ptx_shadow_any(Warp *w, const Insn *i) {
  put(w, i, *SRC(u32, i->a) | *SRC(u32, i->b) | *SRC(u32, i->c) | *SRC(u32, i->e));
}
void ptx_shadow_select(Warp *w, const Insn *i) {
  u32 p = *SRC(u32, i->c);
  put(w, i, (*SRC(u32, i->a) & p) | (*SRC(u32, i->b) & ~p));
}

/* As the shuffle beside it, of numbers in a bank of this function's own. */
void ptx_shfl_b32(Warp *w, const Insn *i);
void ptx_shadow_shuffle(Warp *w, const Insn *i) {
  enum { OWN = 3 };
  u32 lane[2][LANES] = {{0}}, from = *SRC(u32, i->a), r = 0;
  for (u32 l = 0; l < LANES; l++) lane[0][l] = from >> l & 1;
  Insn shuffle = {.a = OWN, .d = sizeof lane[0] | OWN, .b = i->b, .c = i->c, .mode = i->mode};
  u8 *was = w->bank[OWN];
  w->bank[OWN] = (u8 *)lane;
  ptx_shfl_b32(w, &shuffle);
  w->bank[OWN] = was;
  for (u32 l = 0; l < LANES; l++) r |= lane[1][l] << l;
  put(w, i, r);
}

/* a: the shadow; b: the suspect's number; c: a store's address when mode. Only what stays in the
 * thread's own memory may be stored unseen. */
void ptx_shadow_check(Warp *w, const Insn *i) {
  u32 missing = present(w, i) & ~*SRC(u32, i->a);
  if (!missing) return;
  for (u32 m = i->mode ? missing : 0; m; m &= m - 1)
    if (SRC(u64, i->c)[__builtin_ctz(m)] - LOCAL_BASE < WINDOW) missing &= ~(m & -m);
  if (!missing) return;
  report(w->worker, (Report){.kind = UNDEFINED, .pc = i->pc, .buffer = i->b,
                             .block = w->cta->number, .thread = w->base + (u32)__builtin_ctz(missing),
                             .count = (u64)__builtin_popcount(missing)});
  *DST(u32, i->a) |= missing;
}
