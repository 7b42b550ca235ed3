/* Releases and acquires: a fence and an atomic, or a release, order what came before them before the
 * threads that read the value.
 *
 * Each place in memory with releases has a log. A reader has acquired as many of its releases as came
 * before the read; chains of marks hold what these cover, found by binary search, so that a loop of
 * atomics costs the same in every iteration. */
#include <stdlib.h>
#include <string.h>
#include "watch/order.h"

u64 sync_key(const Warp *w, const Buffer *b, u32 offset) {
  u64 where = b ? (u64)(b - w->launch->buffer) : 1ull << 23 | w->cta->number;
  return where << 32 | offset;
}

static u32 slot(u64 key, u32 room) { return (u32)((key * 0x9E3779B97F4A7C15ull) >> 32) % room; }

/* The log of a place: its number + 1, or 0; made when `make`. */
static u32 log_at(Worker *k, u64 key, bool make) {
  Ledger *g = ledger_of(k);
  if (!g->by_key_room) {
    if (!make) return 0;
    g->by_key = calloc(g->by_key_room = 4096, sizeof(u32));
    if (!g->by_key) { out_of_memory(k); g->by_key_room = 0; return 0; }
  }
  u32 at = slot(key, g->by_key_room);
  for (; g->by_key[at]; at = (at + 1) % g->by_key_room)
    if (g->log[g->by_key[at] - 1].key == key) return g->by_key[at];
  if (!make) return 0;
  Log *p = grown(g->log, &g->log_room, g->logs + 1, sizeof(Log));
  if (!p || g->logs + 1 >= g->by_key_room / 2) {
    u32 room = g->by_key_room * 2, *bigger = p ? calloc(room, sizeof(u32)) : NULL;
    if (p) g->log = p;
    if (!bigger) { out_of_memory(k); return 0; }
    for (u32 j = 0; j < g->logs; j++) {
      u32 b = slot(g->log[j].key, room);
      while (bigger[b]) b = (b + 1) % room;
      bigger[b] = j + 1;
    }
    free(g->by_key);
    g->by_key = bigger;
    g->by_key_room = room;
    return log_at(k, key, true);
  }
  g->log = p;
  g->log[g->logs++] = (Log){.key = key};
  g->by_key[at] = g->logs;
  return g->logs;
}

static bool same_chain(const Chain *a, const Chain *b) {
  return a->log == b->log && a->block == b->block && a->thread == b->thread;
}

/* Where a chain's number is in the hash, or would be. */
static u32 chain_slot(const u32 *by_chain, u32 room, const Chain *chain, const Chain *of) {
  u64 key = (((u64)of->log << 32 | of->block) * 0xC2B2AE3D27D4EB4Full) ^ of->thread;
  u32 at = slot(key, room);
  while (by_chain[at] && !same_chain(&chain[by_chain[at] - 1], of)) at = (at + 1) % room;
  return at;
}

static bool more_chains(Worker *k, Ledger *g) {
  Chain *p = grown(g->chain, &g->chain_room, g->chains + 1, sizeof(Chain));
  if (p) g->chain = p;
  if (p && g->chains + 1 < g->by_chain_room / 2) return true;
  u32 room = g->by_chain_room ? 2 * g->by_chain_room : 4096, *bigger = p ? calloc(room, sizeof(u32)) : NULL;
  if (!bigger) { out_of_memory(k); return false; }
  for (u32 j = 0; j < g->chains; j++) bigger[chain_slot(bigger, room, g->chain, &g->chain[j])] = j + 1;
  free(g->by_chain);
  g->by_chain = bigger;
  g->by_chain_room = room;
  return true;
}

/* Adds a release to a chain, unless it covers no more than the chain does; owns `each`. */
static void mark(Worker *k, Chain of, u64 upto, u32 at, u64 *each) {
  Ledger *g = ledger_of(k);
  u32 threads = k->launch->dim[0] * k->launch->dim[1] * k->launch->dim[2];
  if (!more_chains(k, g)) { free(each); return; }
  u32 *number = &g->by_chain[chain_slot(g->by_chain, g->by_chain_room, g->chain, &of)];
  if (!*number) {
    g->chain[g->chains++] = of;
    *number = g->chains;
  }
  Chain *chain = &g->chain[*number - 1];
  const Mark *last = chain->n ? &chain->mark[chain->n - 1] : NULL;
  bool adds = !last || upto > last->upto || (each && !last->each);
  for (u32 t = 0; each && last && last->each && t < threads; t++) {
    adds |= each[t] > last->each[t];
    each[t] = each[t] > last->each[t] ? each[t] : last->each[t];
  }
  if (!adds) { free(each); return; }
  if (!each && last && last->each) {
    each = malloc(threads * sizeof(u64));
    if (!each) { out_of_memory(k); return; }
    memcpy(each, last->each, threads * sizeof(u64));
  }
  Mark *p = grown(chain->mark, &chain->room, chain->n + 1, sizeof(Mark));
  if (!p) { free(each); out_of_memory(k); return; }
  chain->mark = p;
  chain->mark[chain->n] = (Mark){.upto = upto, .each = each, .at = at};
  if (chain->n && p[chain->n - 1].upto > upto) p[chain->n].upto = p[chain->n - 1].upto;
  chain->n++;
}

/* What each thread fenced in earlier phases, which a barrier ordered before the releasing thread. */
static u64 *fenced_by_all(const Cta *c, const Fences *f, u32 thread, u32 phase, u32 epoch) {
  u32 threads = order_of(c)->threads;
  u64 *each = malloc(threads * sizeof(u64));
  for (u32 u = 0; each && u < threads; u++) {
    u64 own = (u64)phase << 32;
    u64 theirs = f->phase[u] < phase_of(c) ? (u64)f->phase[u] << 32 | f->epoch[u] : 0;
    each[u] = own > theirs ? own : theirs;
  }
  if (each && ((u64)phase << 32 | epoch) > each[thread]) each[thread] = (u64)phase << 32 | epoch;
  return each;
}

/* Adds to a place's log that what the thread did up to `epoch` of `phase` is released there. */
static void publish(Warp *w, u32 t, u64 key, const Fences *f, u32 phase, u32 epoch) {
  Cta *c = w->cta;
  Order *o = order_of(c);
  Worker *k = w->worker;
  u32 number = log_at(k, key, true);
  if (!number) return;
  Log *l = &ledger_of(k)->log[number - 1];
  acquire_all(k, &l->refs, &o->acquired[t]);
  acquire_all(k, &l->refs, &o->common);
  const Event e = {.block = c->number, .thread = t, .phase = phase, .epoch = epoch, .made = phase_of(c)};
  if (l->events && !memcmp(&l->last, &e, sizeof e)) return; /* a thread that spins repeats it */
  l->last = e;
  l->events++;
  ledger_of(k)->released = true;
  u64 own = (u64)phase << 32 | epoch, *each = phase < phase_of(c) ? fenced_by_all(c, f, t, phase, epoch) : NULL;
  mark(k, (Chain){.log = number - 1, .block = c->number, .thread = t}, own, l->events, NULL);
  mark(k, (Chain){.log = number - 1, .block = c->number, .thread = ALL_THREADS}, (u64)phase << 32, l->events,
       each);
}

/* The key of a block's own releases at a place, by fences of scope .cta. */
static u64 own_key(const Cta *c, u64 key) { return key ^ (c->number + 1ull) * 0xD6E8FEB86659FD93ull; }

/* An atomic or strong write releases what its thread did before its last fence; with `itself`, before
 * the write. */
void release_at(Warp *w, u32 lane, u64 key, bool itself) {
  const Cta *c = w->cta;
  Order *o = order_of(c);
  u32 t = thread_of(w, lane);
  if (itself) {
    publish(w, t, key, &o->fence, phase_of(c), o->epoch[t]++);
    return;
  }
  if (o->fence.any) publish(w, t, key, &o->fence, o->fence.phase[t], o->fence.epoch[t]);
  if (o->narrow.any) publish(w, t, own_key(c, key), &o->narrow, o->narrow.phase[t], o->narrow.epoch[t]);
}

static void acquire_from(Warp *w, u32 lane, u64 key) {
  Worker *k = w->worker;
  Order *o = order_of(w->cta);
  u32 number = ledger_of(k)->logs ? log_at(k, key, false) : 0;
  if (!number) return;
  const Log *l = &ledger_of(k)->log[number - 1];
  Acquired *acquired = &o->acquired[thread_of(w, lane)];
  o->any_acquired = true;
  acquire_all(k, acquired, &l->refs);
  acquire(k, acquired, (Position){number - 1, l->events});
}

void acquire_at(Warp *w, u32 lane, u64 key) {
  acquire_from(w, lane, key);
  if (order_of(w->cta)->narrow.any) acquire_from(w, lane, own_key(w->cta, key));
}

/* The last mark among the first `upto` releases of a log. */
static const Mark *mark_at(const Ledger *g, Chain of, u32 upto) {
  u32 number = g->by_chain_room ? g->by_chain[chain_slot(g->by_chain, g->by_chain_room, g->chain, &of)] : 0;
  if (!number) return NULL;
  const Chain *chain = &g->chain[number - 1];
  u32 low = 0, high = chain->n;
  while (low < high) {
    u32 middle = low + (high - low) / 2;
    if (chain->mark[middle].at <= upto) low = middle + 1;
    else high = middle;
  }
  return low ? &chain->mark[low - 1] : NULL;
}

bool covered(const Ledger *g, const Acquired *acquired, u32 block, u32 phase, u32 other, u32 epoch) {
  u64 wanted = (u64)phase << 32 | epoch;
  for (u32 j = 0; j < acquired->n; j++) {
    Chain of = {.log = acquired->position[j].log, .block = block, .thread = ALL_THREADS};
    const Mark *all = mark_at(g, of, acquired->position[j].upto);
    if (!all) continue;
    if (all->upto > wanted || (all->each && all->each[other] >= wanted)) return true;
    of.thread = other;
    const Mark *own = mark_at(g, of, acquired->position[j].upto);
    if (own && own->upto >= wanted) return true;
  }
  return false;
}
