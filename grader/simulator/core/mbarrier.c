/* PTX ISA, "Parallel Synchronization": mbarrier, the barrier that lies in shared memory.
 *
 * Its 64 bits are opaque to programs; here: bits 0-19 how many arrivals a phase expects, 20-39
 * how many are still due, 40-63 the number of the phase. An arrival releases what its thread did
 * before, a wait that succeeds acquires it. */
#include <string.h>
#include "memory.h"
#include "order.h"

enum { BITS = 20, MOST = (1 << BITS) - 1, PHASE = 2 * BITS };
enum Op { INIT, INVALIDATE, ARRIVE, DROP, TEST, TEST_PARITY };

static u64 state(u64 expected, u64 due, u64 phase) { return phase << PHASE | due << BITS | expected; }

static u64 arrived(u64 old, u64 count, bool drops) {
  u64 expected = old & MOST, due = old >> BITS & MOST, phase = old >> PHASE;
  if (drops) expected = expected > count ? expected - count : 0;
  due = due > count ? due - count : 0;
  return due ? state(expected, due, phase) : state(expected, expected, phase + 1);
}

static bool completed(const Insn *i, Warp *w, u64 now, u32 l) {
  if (i->e == TEST_PARITY) return (now >> PHASE & 1) != (SRC(u32, i->b)[l] & 1);
  return now >> PHASE != SRC(u64, i->b)[l] >> PHASE;
}

static void one_lane(Warp *w, const Insn *i, u32 l, u32 offset, u8 *p, u32 *done) {
  u64 old, now, count = i->flag ? SRC(u32, i->c)[l] & MOST : 1;
  memcpy(&old, p, 8);
  now = old;
  if (i->e == INIT) now = state(count, count, 0);
  if (i->e == ARRIVE || i->e == DROP) now = arrived(old, count, i->e == DROP);
  memcpy(p, &now, 8);
  if (i->count && i->e <= DROP) DST(u64, i->d)[l] = old;
  if (i->e < TEST || !completed(i, w, now, l)) return;
  *done |= 1u << l;
  if (w->cta->tracked) land_at(w->cta, offset);
  if (w->launch->exact) acquire_at(w, l, sync_key(w, NULL, offset));
}

static void watch(Warp *w, const Insn *i, const u32 *offset) {
  if (w->cta->flying) watch_landing(w, i, offset, 8, i->e < TEST);
  if (i->e <= INVALIDATE) exact_shared(w, i, offset, 8, WRITES);
  else if (i->e < TEST) exact_strong(w, i, NULL, offset, 8, UPDATES, true);
  else exact_shared(w, i, offset, 8, PEEKS);
}

static u64 address(Warp *w, const Insn *i, u32 l) {
  return (i->mode == 4 ? (u64)SRC(u32, i->a)[l] : SRC(u64, i->a)[l]) + (u64)i->imm;
}

/* a: address, of `mode` bytes, displaced by imm; b: what is waited for; c: a count when flag; d:
 * a token when count, or a test's predicate; e: enum Op. */
void ptx_mbarrier(Warp *w, const Insn *i) {
  u32 whole = w->mask, offset[LANES], done = 0;
  u64 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = address(w, i, l);
  u32 left = drop_misaligned(w, i, at, whole, 8, STORE | ATOMIC);
  while (left) {
    Region r;
    u32 group = next_group(w, i, at, &left, 8, STORE | ATOMIC, &r, offset);
    if (!group) continue;
    if (r.space != SHARED) {
      watch_invalid(w, i, (u32)__builtin_ctz(group), at[__builtin_ctz(group)], 8, STORE | ATOMIC);
      continue;
    }
    watch(w, i, offset);
    for (u32 m = group; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      one_lane(w, i, l, offset[l], r.data + offset[l], &done);
    }
  }
  if (w->mask != whole) set_mask(w, whole);
  if (i->e >= TEST) {
    u32 *d = DST(u32, i->d);
    *d = (*d & ~whole) | (done & whole);
  }
}

void ptx_mbarrier_pending_count(Warp *w, const Insn *i) {
  const u64 *token = SRC(u64, i->a);
  u32 *d = DST(u32, i->d);
  for (u32 l = 0; l < LANES; l++) d[l] = w->lane[l] ? (u32)(token[l] >> BITS & MOST) : d[l];
}

/* cp.async.mbarrier.arrive: the thread's copies are the barrier's to track, then it arrives. Without .noinc the arrival
 * was not among the expected ones: it leaves the count as it was. */
void ptx_cp_async_mbarrier_arrive(Warp *w, const Insn *i) {
  u32 barrier[LANES]; /* a window's offset: in its low 32 bits, generic or not */
  for (u32 l = 0; l < LANES; l++) barrier[l] = (u32)address(w, i, l);
  track_flights(w, i, barrier);
  ptx_mbarrier(w, i);
}
