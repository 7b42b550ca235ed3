/* PTX ISA, "Parallel Synchronization": bar, barrier, bar.warp.sync and the meeting of lanes that
 * every .sync instruction asks for. A barrier lets its threads go when all that it counts have
 * come; threads that exited count as come. */
#include "control.h"

enum { SYNC = 0, ARRIVE = 1, RED_POPC = 2, RED_AND = 3, RED_OR = 4, KIND = 7, ALIGNED = 8,
       COUNTED = 16, NEGATED = 32 };
enum { ORDERS = 1 }; /* of a meeting: bar.warp.sync orders accesses, shfl does not */

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

static u32 live(const Warp *w) { return w->valid & ~w->exited; }

void arrive(Warp *w, const BasicBlock *b, u32 frame) {
  const u32 *id = SRC(u32, b->a), *count = SRC(u32, b->b);
  u32 kind = b->flag & KIND;
  for (u32 left = w->mask; left;) {
    u32 first = (u32)__builtin_ctz(left), want = b->flag & COUNTED ? count[first] : 0, group = 0;
    for (u32 m = left; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      if (id[l] == id[first] && (!(b->flag & COUNTED) || count[l] == want)) group |= 1u << l;
    }
    left &= ~group;
    if (id[first] >= MAX_BARRIERS || want > MAX_BLOCK_THREADS) {
      fail(w, TRAPPED, b->pc, BAD_BARRIER);
      return;
    }
    if (kind == ARRIVE) {
      u32 threads = group == live(w) ? LANES : (u32)__builtin_popcount(group);
      w->cta->arrived[id[first]] += threads;
      watch_arrive(w, id[first], group);
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
        u32 kind = x->kind & KIND;
        if (x->membership || x->id != id || kind < RED_POPC) continue;
        const BasicBlock *b = &w->launch->block[x->basic];
        w->bank[0] = w->arena + w->frame[x->frame].registers;
        if (pass == 0) {
          u32 p = *SRC(u32, b->c) ^ (x->kind & NEGATED ? FULL : 0);
          ones += (u32)__builtin_popcount(p & x->mask);
          all += (u32)__builtin_popcount(x->mask);
        } else if (kind == RED_POPC) {
          u32 *d = DST(u32, b->d);
          for (u32 l = 0; l < LANES; l++) d[l] = x->mask >> l & 1 ? ones : d[l];
        } else {
          u32 *d = DST(u32, b->d), yes = kind == RED_AND ? ones == all : ones > 0;
          *d = (*d & ~x->mask) | (yes ? x->mask : 0);
        }
      }
    }
}

typedef struct { u32 threads, counted, want, other_pc, other_thread; bool reduces; const Wait *first; u32 thread; } Tally;

static Tally tally(Cta *c, u32 id) {
  Tally t = {.other_pc = 0};
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    u32 here = 0;
    for (u32 n = 0; n < w->waits; n++) {
      const Wait *x = &w->wait[n];
      if (x->membership || x->id != id) continue;
      u32 thread = thread_of(w, (u32)__builtin_ctz(x->mask));
      if (!t.first) { t.first = x; t.thread = thread; t.want = x->want; }
      if (x->pc != t.first->pc && !t.other_pc) { t.other_pc = x->pc; t.other_thread = thread; }
      t.reduces |= (x->kind & KIND) >= RED_POPC;
      here |= x->mask;
    }
    t.threads += (u32)__builtin_popcount(here);
    t.counted += here && here == live(w) ? LANES : (u32)__builtin_popcount(here);
  }
  return t;
}

static void let_go(Cta *c, u32 id) {
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    for (u32 n = w->waits; n-- > 0;) {
      Wait x = w->wait[n];
      if (x.membership || x.id != id) continue;
      drop_wait(w, n);
      EACH_LANE { w->passed[l] = x.mask >> l & 1 ? x.pc + 1 : w->passed[l]; }
      make_runnable(w, x.frame, x.block, x.mask);
    }
  }
  c->arrived[id] = 0;
}

static void say_divergence(Cta *c, u32 pc, u32 thread, u32 pc2, u32 thread2, u32 kind) {
  report(c->warp[0].worker,
         (Report){.kind = kind, .pc = pc, .pc2 = pc2, .block = c->number, .block2 = c->number,
                  .thread = thread, .thread2 = thread2, .count = 1});
}

/* Threads that are gone: some were at this barrier last, while the others come to it again. */
static void note_early_exit(Cta *c, u32 pc) {
  Report r = {.kind = EARLY_EXIT, .pc = pc, .block = c->number, .count = 0};
  for (u32 k = 0; k < c->warps && !r.extra; k++) {
    Warp *w = &c->warp[k];
    for (u32 m = w->exited; m && !r.extra; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      r.extra = w->passed[l] == pc + 1;
      if (r.extra || !r.count) r.thread = thread_of(w, l);
      r.count = 1;
    }
  }
  r.pc2 = r.extra ? pc : 0; /* told apart from threads that never came */
  if (r.count) report(c->warp[0].worker, r);
}

/* Lets every barrier go that is complete. False when none is. */
bool release_barriers(Cta *c) {
  bool any = false;
  u32 alive = 0;
  for (u32 k = 0; k < c->warps; k++) alive += (u32)__builtin_popcount(live(&c->warp[k]));
  for (u32 id = 0; id < MAX_BARRIERS; id++) {
    Tally t = tally(c, id);
    if (!t.first) continue;
    bool all = t.threads == alive, full = all && (!t.want || t.threads == c->nthreads);
    if (t.want ? t.counted + c->arrived[id] < t.want : !all) continue;
    if (!t.want && t.other_pc && t.first->kind & ALIGNED)
      say_divergence(c, t.first->pc, t.thread, t.other_pc, t.other_thread, DIVERGENCE);
    if (!t.want && alive < c->nthreads) note_early_exit(c, t.first->pc);
    if (t.reduces) reduce(c, id);
    c->barriers++;
    watch_barrier(c, id, full && !c->arrived[id]);
    let_go(c, id);
    any = true;
  }
  return any;
}

/* Lanes that a member mask names and that returned: legal, like an early return. */
static void note_lanes_gone(Warp *w, u32 pc, u32 gone) {
  if (gone)
    report(w->worker, (Report){.kind = EARLY_EXIT, .pc = pc, .block = w->cta->number, .count = 1,
                               .thread = thread_of(w, (u32)__builtin_ctz(gone))});
}

/* The lanes named by each lane's member mask must all come to this instruction. */
void arrive_in_warp(Warp *w, const BasicBlock *b, u32 frame) {
  const u32 *member = SRC(u32, b->a);
  u32 same = member[__builtin_ctz(w->mask)], uniform = 1;
  for (u32 l = 0; l < LANES; l++) uniform &= !w->lane[l] || member[l] == same;
  if (uniform && w->mask == (same & live(w))) {
    if (b->flag & ORDERS) watch_warp_sync(w, w->mask);
    note_lanes_gone(w, b->pc, same & w->exited);
    make_runnable(w, frame, b->next, w->mask);
    return;
  }
  for (u32 left = w->mask; left;) {
    u32 first = (u32)__builtin_ctz(left), group = 0;
    for (u32 m = left; m; m &= m - 1)
      if (member[__builtin_ctz(m)] == member[first]) group |= m & -m;
    left &= ~group;
    u32 outside = group & ~member[first];
    if (outside)
      report(w->worker, (Report){.kind = WARP_MASK, .pc = b->pc, .block = w->cta->number, .count = 1,
                                 .thread = thread_of(w, (u32)__builtin_ctz(outside)),
                                 .extra = member[first]});
    wait_at(w, (Wait){.mask = group, .frame = frame, .block = b->next, .pc = b->pc, .membership = 1,
                      .kind = b->flag, .want = member[first] | group});
  }
}

/* The lanes that wait with one another: those of bar.warp.sync by their member mask, wherever it
 * is called; those of the others by their instruction too, for they exchange registers. */
static u32 met(const Warp *w, const Wait *x) {
  u32 mask = 0;
  for (u32 n = 0; n < w->waits; n++) {
    const Wait *y = &w->wait[n];
    bool same = y->pc == x->pc || (x->kind & ORDERS && y->kind & ORDERS);
    if (y->membership && y->want == x->want && same) mask |= y->mask;
  }
  return mask;
}

static void let_lanes_go(Warp *w, u32 n) {
  Wait x = w->wait[n];
  drop_wait(w, n);
  make_runnable(w, x.frame, x.block, x.mask);
}

/* All waits that meet in `mask`; they are ordered together. */
static void release_group(Warp *w, Wait x, u32 mask) {
  if (x.kind & ORDERS) watch_warp_sync(w, mask);
  for (u32 n = w->waits; n-- > 0;) {
    const Wait *y = &w->wait[n];
    if (y->membership && y->want == x.want && y->kind == x.kind && !(y->mask & ~mask)) let_lanes_go(w, n);
  }
}

/* Groups that are complete go on; with `force`, all of them do, after a report. */
bool release_warp_waits(Warp *w, bool force) {
  bool any = false;
  const Wait *first = NULL, *other = NULL;
  for (u32 n = 0; n < w->waits; n++) {
    if (!w->wait[n].membership) { other = other ? other : &w->wait[n]; continue; }
    if (!first) first = &w->wait[n];
    else if (w->wait[n].pc != first->pc) other = &w->wait[n];
  }
  if (force && first)
    say_divergence(w->cta, first->pc, thread_of(w, (u32)__builtin_ctz(first->mask)),
                   other ? other->pc : first->pc,
                   other ? thread_of(w, (u32)__builtin_ctz(other->mask)) : w->base, WARP_STUCK);
  for (u32 n = 0; n < w->waits;) {
    Wait x = w->wait[n];
    u32 mask = x.membership ? met(w, &x) : 0;
    if (!x.membership || (!force && mask != (x.want & live(w)))) { n++; continue; }
    if (!force) note_lanes_gone(w, x.pc, x.want & w->exited);
    release_group(w, x, mask);
    any = true;
    n = 0;
  }
  return any;
}

/* No warp can go on: say who waits where. */
void say_deadlock(Cta *c) {
  const Wait *first = NULL, *other = NULL;
  u32 a = 0, b = 0;
  for (u32 k = 0; k < c->warps; k++)
    for (u32 n = 0; n < c->warp[k].waits; n++) {
      const Wait *x = &c->warp[k].wait[n];
      u32 thread = thread_of(&c->warp[k], (u32)__builtin_ctz(x->mask));
      if (!first) { first = x; a = thread; }
      else if (!other && (x->pc != first->pc || x->id != first->id)) { other = x; b = thread; }
    }
  if (first) say_divergence(c, first->pc, a, other ? other->pc : first->pc, other ? b : a, DEADLOCK);
}
