/* PTX ISA, "Parallel Synchronization": bar, barrier, bar.warp.sync and the wait for all lanes of the
 * member mask that every .sync instruction makes. A barrier completes when all threads that it expects
 * have arrived; threads that exited count as arrived. */
#include "machine/control.h"
#include "machine/events.h"

/* In the flag of a wait within a warp: bar.warp.sync orders accesses, shfl does not; a match in a library
 * stands for the barrier that the library omits. */
enum { ORDERS = 1, ORDERS_IN_LIBRARY = 2 };

static void wait_at(Warp *w, Wait want) {
  for (u32 k = 0; k < w->waits; k++) {
    Wait *t = &w->wait[k];
    if (t->pc == want.pc && t->frame == want.frame && t->id == want.id && t->want == want.want &&
        t->membership == want.membership && t->kind == want.kind) {
      t->mask |= want.mask;
      return;
    }
  }
  w->wait[w->waits++] = want;
}

static void drop_wait(Warp *w, u32 k) { w->wait[k] = w->wait[--w->waits]; }

/* Whether all active lanes have the same value. */
static bool is_uniform(const Warp *w, u32 operand) {
  const u32 *value = SRC(u32, operand);
  if (is_constant(operand)) return true;
  u32 differ = 0, one = value[first_lane(w->mask)];
  EACH_LANE { differ |= (value[l] ^ one) & w->lane[l]; }
  return !differ;
}

void arrive(Warp *w, const BasicBlock *b, u32 frame) {
  const u32 *id = SRC(u32, b->a), *count = SRC(u32, b->b);
  w->did++;
  u32 kind = b->flag & BAR_KIND;
  for (u32 left = w->mask; left;) {
    u32 first = (u32)__builtin_ctz(left), want = b->flag & BAR_COUNTED ? count[first] : 0, group = 0;
    if (is_uniform(w, b->a) && (!(b->flag & BAR_COUNTED) || is_uniform(w, b->b))) group = left;
    for (u32 m = group ? 0 : left; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      if (id[l] == id[first] && (!(b->flag & BAR_COUNTED) || count[l] == want)) group |= 1u << l;
    }
    left &= ~group;
    if (id[first] >= MAX_BARRIERS || want > MAX_BLOCK_THREADS) {
      fail(w, TRAPPED, b->pc, BAD_BARRIER);
      return;
    }
    if (kind == BAR_ARRIVE) {
      u32 threads = group == live_lanes(w) ? LANES : (u32)__builtin_popcount(group);
      w->cta->arrived[id[first]] += threads;
      w->cta->passes++;
      announce_barrier_arrived(w, b->pc, id[first], group, want);
      make_runnable(w, frame, b->next, group);
      continue;
    }
    wait_at(w, (Wait){.mask = group, .frame = frame, .block = b->next, .pc = b->pc, .id = id[first],
                      .kind = b->flag, .want = want, .basic = (u32)(b - w->launch->block)});
  }
}

/* bar.red: every thread gets the count, the conjunction or the disjunction of all predicates. */
static void reduce(Cta *c, u32 id) {
  u32 ones = 0, all = 0;
  for (u32 pass = 0; pass < 2; pass++)
    for (u32 k = 0; k < c->warps; k++) {
      Warp *w = &c->warp[k];
      for (u32 t = 0; t < w->waits; t++) {
        const Wait *x = &w->wait[t];
        u32 kind = x->kind & BAR_KIND;
        if (!leaves_barrier(x, id) || kind < BAR_RED_POPC) continue;
        const BasicBlock *b = &w->launch->block[x->basic];
        w->bank[0] = w->arena + w->frame[x->frame].registers;
        if (pass == 0) {
          u32 p = *SRC(u32, b->c) ^ (x->kind & BAR_NEGATED ? FULL : 0);
          ones += (u32)__builtin_popcount(p & x->mask);
          all += (u32)__builtin_popcount(x->mask);
        } else if (kind == BAR_RED_POPC) {
          u32 *d = DST(u32, b->d);
          for (u32 l = 0; l < LANES; l++) d[l] = x->mask >> l & 1 ? ones : d[l];
        } else {
          u32 *d = DST(u32, b->d), yes = kind == BAR_RED_AND ? ones == all : ones > 0;
          *d = (*d & ~x->mask) | (yes ? x->mask : 0);
        }
      }
    }
}

/* The threads that wait at a barrier, and leave when it is complete: warps in their order, until they are as
 * many as it wants. `counted`: whole warps count as 32, as on the hardware, and so does who only arrived. */
typedef struct { u32 threads, counted, want; bool any, reduces; } Tally;

static Tally tally(Cta *c, u32 id) {
  Tally t = {.counted = c->arrived[id]};
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    bool leave = !t.any || !t.want || t.counted < t.want;
    u32 here = 0;
    for (u32 n = 0; n < w->waits; n++) {
      Wait *x = &w->wait[n];
      if (x->membership || x->id != id) continue;
      x->leaves = leave;
      if (!leave) continue;
      if (!t.any) t.want = x->want;
      t.any = true;
      t.reduces |= (x->kind & BAR_KIND) >= BAR_RED_POPC;
      here |= x->mask;
    }
    t.threads += (u32)__builtin_popcount(here);
    t.counted += here && here == live_lanes(w) ? LANES : (u32)__builtin_popcount(here);
  }
  return t;
}

static void release_threads(Cta *c, u32 id) {
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    for (u32 n = w->waits; n-- > 0;) {
      Wait x = w->wait[n];
      if (!leaves_barrier(&x, id)) continue;
      drop_wait(w, n);
      make_runnable(w, x.frame, x.block, x.mask);
    }
  }
  c->arrived[id] = 0;
}

/* Releases the threads of every barrier that is complete. False when none is. A barrier of as many threads as
 * it wants is complete for those alone: only one that the whole block left orders all. */
bool release_barriers(Cta *c) {
  bool any = false;
  u32 alive = 0, ids = 0;
  for (u32 k = 0; k < c->warps; k++) {
    const Warp *w = &c->warp[k];
    alive += (u32)__builtin_popcount(live_lanes(w));
    for (u32 n = 0; n < w->waits; n++)
      if (!w->wait[n].membership) ids |= 1u << w->wait[n].id;
  }
  for (; ids; ids &= ids - 1) {
    u32 id = first_lane(ids);
    Tally t = tally(c, id);
    bool all = t.threads == alive, full = all && (!t.want || t.threads == c->nthreads);
    if (t.want ? t.counted < t.want : !all) continue;
    if (t.reduces) reduce(c, id);
    c->barriers++;
    c->passes++;
    announce_barrier_completed(c, id, full && !c->arrived[id]);
    release_threads(c, id);
    any = true;
  }
  return any;
}

/* All lanes in each lane's member mask must come to this instruction. */
void arrive_in_warp(Warp *w, const BasicBlock *b, u32 frame) {
  const u32 *member = SRC(u32, b->a);
  u32 same = member[__builtin_ctz(w->mask)], uniform = 1;
  for (u32 l = 0; l < LANES; l++) uniform &= !w->lane[l] || member[l] == same;
  if (uniform && w->mask == (same & live_lanes(w))) {
    if (b->flag) announce_warp_synced(w, w->mask);
    if (same & w->exited) announce_members_exited(w, b->pc, same & w->exited);
    make_runnable(w, frame, b->next, w->mask);
    return;
  }
  for (u32 left = w->mask; left;) {
    u32 first = (u32)__builtin_ctz(left), group = 0;
    for (u32 m = left; m; m &= m - 1)
      if (member[__builtin_ctz(m)] == member[first]) group |= m & -m;
    left &= ~group;
    u32 outside = group & ~member[first];
    if (outside) announce_outside_mask(w, b->pc, outside, member[first]);
    wait_at(w, (Wait){.mask = group, .frame = frame, .block = b->next, .pc = b->pc, .membership = 1,
                      .kind = b->flag, .want = member[first] | group});
  }
}

/* The lanes that wait for one another: those at any bar.warp.sync with the same member mask; those at
 * another instruction, which exchanges registers, must be at the same one. */
static u32 lanes_waiting_with(const Warp *w, const Wait *x) {
  u32 mask = 0;
  for (u32 n = 0; n < w->waits; n++) {
    const Wait *y = &w->wait[n];
    bool same = y->pc == x->pc || (x->kind & ORDERS && y->kind & ORDERS);
    if (y->membership && y->want == x->want && same) mask |= y->mask;
  }
  return mask;
}

/* Whether all lanes that a wait within the warp is for have arrived or exited. */
bool members_arrived(const Warp *w, const Wait *x) { return lanes_waiting_with(w, x) == (x->want & live_lanes(w)); }

static void release_lanes(Warp *w, u32 n) {
  Wait x = w->wait[n];
  drop_wait(w, n);
  make_runnable(w, x.frame, x.block, x.mask);
}

/* Releases all lanes in `mask`, which wait for one another. */
static void release_group(Warp *w, Wait x, u32 mask) {
  if (x.kind) announce_warp_synced(w, mask);
  for (u32 n = w->waits; n-- > 0;) {
    const Wait *y = &w->wait[n];
    if (y->membership && y->want == x.want && y->kind == x.kind && !(y->mask & ~mask)) release_lanes(w, n);
  }
}

static bool waits_for_members(const Warp *w) {
  for (u32 n = 0; n < w->waits; n++)
    if (w->wait[n].membership) return true;
  return false;
}

/* Releases groups of lanes that are complete; with `force`, which is announced, all of them. */
bool release_warp_waits(Warp *w, bool force) {
  bool any = false;
  if (force && waits_for_members(w)) announce_warp_stuck(w);
  for (u32 n = 0; n < w->waits;) {
    Wait x = w->wait[n];
    if (!x.membership || (!force && !members_arrived(w, &x))) { n++; continue; }
    if (!force && x.want & w->exited) announce_members_exited(w, x.pc, x.want & w->exited);
    release_group(w, x, lanes_waiting_with(w, &x));
    any = true;
    n = 0;
  }
  return any;
}
