/* PTX ISA, "Parallel Synchronization": mbarrier, the barrier in shared memory.
 *
 * Its 64 bits are opaque to programs. Here: bits 0-19 are the arrivals that a phase expects, 20-39
 * those still missing, 40-60 the bytes that transactions still have to copy, modulo 2^21, 61-63 the number
 * of the phase, modulo 8. A phase ends when no arrival and no byte is missing. */
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"

enum { BITS = 20, MOST = MBARRIER_MOST, PENDING = 2 * BITS, ALL_PENDING = (1 << 21) - 1, PHASE = 61 };
enum Op { INIT, INVALIDATE, ARRIVE, DROP, EXPECT, ARRIVE_EXPECT, COMPLETE, TEST, TEST_PARITY }; /* the first as MBARRIER_INIT ... */

static u64 state(u64 expected, u64 missing, u64 pending, u64 phase) {
  return phase << PHASE | (pending & ALL_PENDING) << PENDING | missing << BITS | expected;
}

/* The state after `count` arrivals and `bytes` more that transactions have to copy. */
static u64 arrived(u64 old, u64 count, bool drops, u64 bytes) {
  u64 expected = old & MOST, missing = old >> BITS & MOST, phase = old >> PHASE;
  u64 pending = ((old >> PENDING) + bytes) & ALL_PENDING;
  if (drops) expected = expected > count ? expected - count : 0;
  missing = missing > count ? missing - count : 0;
  return missing || pending ? state(expected, missing, pending, phase) : state(expected, expected, 0, phase + 1);
}

static u64 changed(u64 old, u32 op, u64 count) {
  switch (op) {
    case INIT: return state(count, count, 0, 0);
    case ARRIVE: return arrived(old, count, false, 0);
    case DROP: return arrived(old, count, true, 0);
    case EXPECT: return arrived(old, 0, false, count);
    case ARRIVE_EXPECT: return arrived(old, 1, false, count);
    case COMPLETE: return arrived(old, 0, false, 0 - count);
    default: return old;
  }
}

static bool completed(const Insn *i, Warp *w, u64 now, u32 l) {
  if (i->e == TEST_PARITY) return (now >> PHASE & 1) != (SRC(u32, i->b)[l] & 1);
  return now >> PHASE != SRC(u64, i->b)[l] >> PHASE;
}

/* Copies end at any time: a phase that one ended, and that no thread has observed, may not be complete yet. In an order
 * that is patient it is not, until a warp has looked for it so often that a wait for a limited time has given up. */
static u32 *late_entry(Cta *c, u32 offset) {
  for (u32 k = 0; k < MOST_LATE; k++)
    if (c->late[k] == offset) return &c->late[k];
  return NULL;
}
static void set_late(Cta *c, u32 offset, bool late) {
  u32 *known = late_entry(c, offset + 1), *unused = late_entry(c, 0);
  if (!late && known) *known = 0;
  if (late && !known && unused) *unused = offset + 1;
}
static bool is_late_phase(Warp *w, u32 offset) { return late_entry(w->cta, offset + 1) && is_patient(w); }

static void one_lane(Warp *w, const Insn *i, u32 l, u32 offset, u8 *p, u32 *done) {
  u64 old, now, count = i->flag & MBARRIER_COUNTED ? SRC(u32, i->c)[l] & MOST : 1;
  memcpy(&old, p, 8);
  now = changed(old, i->e, count);
  w->cta->changes += now != old;
  memcpy(p, &now, 8);
  if (i->count && i->e < TEST) DST(u64, i->d)[l] = old;
  if (i->e >= ARRIVE && i->e < TEST && now >> PHASE != old >> PHASE) announce_mbarrier_completed(w, offset);
  if (i->e < TEST && now >> PHASE != old >> PHASE) set_late(w->cta, offset, false);
  if (i->e < TEST) return;
  bool over = completed(i, w, now, l) && !is_late_phase(w, offset);
  w->tested = w->awaits[l] = over ? 0 : offset + 1;
  if (!over) return;
  *done |= 1u << l;
  set_late(w->cta, offset, false);
  announce_mbarrier_passed(w, i, l, offset);
}

/* Arrivals are announced a lane at a time, so that a phase ends between those of two lanes. */
static void all_lanes(Warp *w, const Insn *i, u32 group, const Region *r, const u32 *offset, u32 *done) {
  if (i->e <= INVALIDATE) announce_mbarrier_set(w, i, offset);
  if (i->e >= TEST) announce_mbarrier_tested(w, i, offset);
  for (u32 m = group; m; m &= m - 1) {
    u32 l = first_lane(m);
    if (i->e > INVALIDATE && i->e < TEST) {
      set_mask(w, 1u << l);
      announce_mbarrier_arrived(w, i, offset);
    }
    one_lane(w, i, l, offset[l], r->data + offset[l], done);
  }
}

/* a: address, of `mode` bytes, displaced by imm; b: the phase to wait for; c: a count when flag; d:
 * a token when count, or a test's predicate; e: enum Op. */
void ptx_mbarrier(Warp *w, const Insn *i) {
  u32 whole = w->mask, offset[LANES], done = 0;
  u64 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = lane_address(w, i, l);
  u32 left = drop_misaligned(w, i, at, whole, 8, STORE | ATOMIC);
  while (left) {
    Region r;
    u32 group = next_group(w, i, at, &left, 8, STORE | ATOMIC, &r, offset);
    if (!group) continue;
    if (r.space != SHARED) {
      announce_invalid(w, i, (u32)__builtin_ctz(group), at[__builtin_ctz(group)], 8, STORE | ATOMIC);
      continue;
    }
    all_lanes(w, i, group, &r, offset, &done);
  }
  if (w->mask != whole) set_mask(w, whole);
  if (i->e >= TEST) {
    u32 *d = DST(u32, i->d);
    *d = (*d & ~whole) | (done & whole);
    look(w, i, at, whole & ~done);
  }
}

void ptx_mbarrier_pending_count(Warp *w, const Insn *i) {
  const u64 *token = SRC(u64, i->a);
  u32 *d = DST(u32, i->d);
  for (u32 l = 0; l < LANES; l++) d[l] = w->lane[l] ? (u32)(token[l] >> BITS & MOST) : d[l];
}

/* cp.async.mbarrier.arrive: the mbarrier tracks the thread's copies, then the thread arrives. Without
 * .noinc the arrival is not among the expected ones and leaves their number as it is. */
void ptx_cp_async_mbarrier_arrive(Warp *w, const Insn *i) {
  u32 barrier[LANES]; /* offset in shared memory: the low 32 bits of an address, generic or not */
  for (u32 l = 0; l < LANES; l++) barrier[l] = (u32)lane_address(w, i, l);
  track_copies(w, i, barrier);
  ptx_mbarrier(w, i);
}

/* The end of a transaction of `bytes` that the active lane started: the writes of the copy, and what the
 * lane did before it, precede what follows a wait. */
void complete_transaction(Warp *w, const Insn *i, u64 barrier, u32 bytes) {
  Insn end = {.pc = i->pc, .e = COMPLETE, .size = 8, .space = SHARED};
  u64 at[LANES], old, now;
  u32 offset[LANES], whole = w->mask, left;
  Region r;
  for (u32 l = 0; l < LANES; l++) at[l] = (u32)barrier;
  left = drop_misaligned(w, &end, at, whole, 8, STORE | ATOMIC);
  if (!left || !next_group(w, &end, at, &left, 8, STORE | ATOMIC, &r, offset)) return;
  announce_mbarrier_arrived(w, &end, offset);
  memcpy(&old, r.data + offset[0], 8);
  now = changed(old, COMPLETE, bytes);
  w->cta->changes++;
  memcpy(r.data + offset[0], &now, 8);
  if (now >> PHASE == old >> PHASE) return;
  set_late(w->cta, offset[0], true);
  announce_mbarrier_completed(w, offset[0]);
}

/* The object at an offset; all bits 0 at one outside shared memory, which was announced when it was used. */
static u64 object_at(const Cta *c, u32 offset) {
  u64 now = 0;
  if ((u64)offset + sizeof now <= c->worker->launch->shared_bytes) memcpy(&now, c->shared + offset, sizeof now);
  return now;
}

/* The bytes that the copies of the present phase still have to bring; negative when they brought more than the
 * phase expects. */
s32 pending_bytes(const Cta *c, u32 offset) {
  u64 now = object_at(c, offset);
  u32 bytes = (u32)(now >> PENDING & ALL_PENDING);
  return bytes > ALL_PENDING / 2 ? (s32)bytes - (ALL_PENDING + 1) : (s32)bytes;
}

/* The arrivals that a phase expects, and those of them that are still missing. */
void counts_of(const Cta *c, u32 offset, u32 *expected, u32 *missing) {
  u64 now = object_at(c, offset);
  *expected = (u32)(now & MOST);
  *missing = (u32)(now >> BITS & MOST);
}
