/* Data races and uninitialized reads where finer orders than full barriers occur: every granule keeps
 * the accesses that a later one may conflict with, and order.c decides what is ordered. */
#include <stdlib.h>
#include "watch/order.h"

enum { CROWD = 64, MAX_NODES = 8 << 20 };

/* One lane's access to one granule. `reads`: it may read an uninitialized value. */
typedef struct {
  Warp *w; const Insn *i; Buffer *buffer; Head *head;
  u32 lane, thread, offset, granule, access;
  bool reads, race_reported, uninit_reported;
} Visit;

enum { STRONG = VOLATILE | ACQUIRE | RELEASE | RELAXED };

static bool both_strong(u32 a, u32 b) {
  return (a == UPDATES || a == PEEKS) && (b == UPDATES || b == PEEKS);
}
static bool conflict(const Visit *v, const Node *n) {
  u32 a = n->access, b = v->access;
  bool both_read = (a == READS || a == PEEKS) && (b == READS || b == PEEKS);
  bool apart = n->block != v->w->cta->number && (n->narrow || v->i->flag & SCOPE_CTA);
  return !both_read && (apart || !both_strong(a, b));
}

static u32 new_node(Worker *k, Node n) {
  Ledger *g = ledger_of(k);
  u32 at = g->node_free;
  if (at) {
    g->node_free = g->node[at - 1].next;
  } else {
    if (g->nodes == g->node_room) {
      u32 room = g->node_room ? 2 * g->node_room : 4096;
      Node *p = room <= MAX_NODES ? realloc(g->node, (size_t)room * sizeof(Node)) : NULL;
      if (!p) { out_of_memory(k); return 0; }
      g->node = p;
      g->node_room = room;
    }
    at = ++g->nodes;
  }
  g->node[at - 1] = n;
  return at;
}

static void free_node(Ledger *g, u32 *link) {
  u32 at = *link;
  *link = g->node[at - 1].next;
  g->node[at - 1].next = g->node_free;
  g->node_free = at;
}

static void free_list(Ledger *g, u32 *list) {
  while (*list) free_node(g, list);
}

static void report_race(Visit *v, const Node *n, u32 other) {
  Warp *w = v->w;
  u32 flags = v->access == WRITES || v->access == UPDATES ? STORE : 0;
  flags |= v->access == UPDATES ? ATOMIC : 0;
  flags |= n->access == WRITES || n->access == UPDATES ? OTHER_STORE : 0;
  flags |= n->access == UPDATES ? OTHER_ATOMIC : 0;
  bool here = n->block == w->cta->number;
  flags |= !here && both_strong(n->access, v->access) ? BLOCK_SCOPE : 0;
  flags |= !here ? ACROSS_BLOCKS : other / LANES == v->thread / LANES ? WITHIN_WARP : 0;
  u8 *data = v->buffer ? v->buffer->data : w->cta->shared;
  if (here && n->warp == w->index && n->serial == (u32)w->steps && n->pc == v->i->pc) {
    flags |= SAME_INSTRUCTION;
    if (v->access == WRITES && lanes_store_same(w, v->i, v->lane, other % LANES)) flags |= SAME_VALUE;
  } else if (v->access == WRITES && flags & OTHER_STORE && stores_same(w, v->i, v->lane, data + v->offset)) {
    flags |= SAME_VALUE;
  }
  report(w->worker, (Report){.kind = RACE, .flags = flags, .pc = v->i->pc, .pc2 = n->pc, .count = 1,
                             .space = v->buffer ? GLOBAL : SHARED, .address = v->offset,
                             .buffer = v->buffer ? (u32)(v->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .block2 = n->block, .thread = v->thread,
                             .thread2 = other, .size = (u32)v->i->size * v->i->count});
}

/* The first lane of a node that is not ordered before this access; LANES when all are. */
static u32 unordered(Visit *v, const Node *n) {
  Warp *w = v->w;
  if (n->block == w->cta->number && n->phase < phase_of(w->cta)) return LANES;
  for (u32 m = n->lanes; m; m &= m - 1) {
    u32 other = n->warp * LANES + (u32)__builtin_ctz(m);
    if (n->block == w->cta->number && other == v->thread) continue;
    if (!ordered_before(w, v->thread, n->block, n->phase, other, n->epoch)) return other % LANES;
  }
  return LANES;
}

/* Checks a list, and drops from it the accesses that this one supersedes: those ordered before it that
 * conflict with nothing but what this one conflicts with too. */
static u32 against(Visit *v, u32 *list) {
  Ledger *g = ledger_of(v->w->worker);
  u32 length = 0;
  for (u32 *link = list; *link;) {
    Node *n = &g->node[*link - 1];
    bool matters = conflict(v, n), covers = v->access == WRITES || v->access == n->access;
    u32 lane = matters || covers ? unordered(v, n) : 0;
    if (matters && lane < LANES && !v->race_reported) {
      v->race_reported = true;
      report_race(v, n, n->warp * LANES + lane);
    }
    if (covers && lane == LANES) { free_node(g, link); continue; }
    link = &n->next;
    length++;
  }
  return length;
}

static void add(Visit *v, u32 *list) {
  Warp *w = v->w;
  Ledger *g = ledger_of(w->worker);
  u32 epoch = order_of(w->cta)->epoch[v->thread];
  for (u32 at = *list; at; at = g->node[at - 1].next) {
    Node *n = &g->node[at - 1];
    if (n->block == w->cta->number && n->warp == w->index && n->phase == phase_of(w->cta) &&
        n->epoch == epoch && n->access == v->access && n->pc == v->i->pc) {
      n->lanes |= 1u << v->lane;
      n->serial = (u32)w->steps;
      return;
    }
  }
  u32 made = new_node(w->worker, (Node){.block = w->cta->number, .phase = phase_of(w->cta), .warp = w->index,
                                        .lanes = 1u << v->lane, .epoch = epoch, .pc = v->i->pc,
                                        .next = *list, .access = v->access, .serial = (u32)w->steps,
                                        .narrow = (v->i->flag & SCOPE_CTA) != 0});
  if (made) *list = made;
}

static void visit(Visit *v) {
  bool modifies = v->access == WRITES || v->access == UPDATES;
  against(v, &v->head->writers);
  u32 readers = modifies || v->head->readers ? against(v, &v->head->readers) : 0;
  if (modifies) add(v, &v->head->writers);
  else if (readers < CROWD) add(v, &v->head->readers);
}

static void report_uninit(Visit *v) {
  Warp *w = v->w;
  report(w->worker, (Report){.kind = UNINIT, .pc = v->i->pc, .space = v->buffer ? GLOBAL : SHARED,
                             .buffer = v->buffer ? (u32)(v->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .thread = v->thread, .count = 1,
                             .size = (u32)v->i->size * v->i->count, .address = v->offset});
}

/* False: the access is to a gap between variables. */
static bool check_shared_state(Visit *v) {
  Cta *c = v->w->cta;
  u32 *stamp = &shadow_of(c)->wrote[v->granule];
  if (*stamp == GAP) {
    u64 base = v->i->space == SHARED ? 0 : SHARED_BASE;
    report_invalid(v->w, v->i, v->lane, base + v->offset, (u32)v->i->size * v->i->count,
                   v->access == READS || v->access == PEEKS ? 0 : STORE);
    return false;
  }
  if (*stamp == 0 && v->reads && !v->uninit_reported) {
    v->uninit_reported = true;
    if (v->access != UPDATES) log_uninit(c, v->granule, v->thread, v->i->pc);
    report_uninit(v);
  }
  if (v->access == WRITES || v->access == UPDATES) *stamp = phase_of(c) | v->thread;
  return true;
}

static void shared_lane(Visit *v, u32 bytes) {
  Cta *c = v->w->cta;
  u32 shift = v->w->launch->shared_shift;
  for (u32 g = v->offset >> shift; g <= (v->offset + bytes - 1) >> shift; g++) {
    v->granule = g;
    v->head = &order_of(c)->head[g];
    if (!check_shared_state(v)) return;
    if (v->head->phase != phase_of(c)) {
      free_list(ledger_of(v->w->worker), &v->head->writers);
      free_list(ledger_of(v->w->worker), &v->head->readers);
      v->head->phase = phase_of(c);
    }
    visit(v);
  }
}

/* Readers of several blocks and no writer: a crowd, whose reads are not kept. True: nothing to check. */
static bool crowded(Visit *v, u32 *hot) {
  Head *h = v->head;
  bool reads = v->access == READS;
  if (reads && h->readers && !h->writers && *hot == HOT_INIT &&
      ledger_of(v->w->worker)->node[h->readers - 1].block != v->w->cta->number) {
    h->crowd = 1;
    *hot = HOT_SHARED_INPUT;
    return true;
  }
  if (!reads && h->crowd && v->access != PEEKS) {
    const Order *o = order_of(v->w->cta);
    const Node *n = &ledger_of(v->w->worker)->node[h->readers - 1];
    bool acquired = o->common.n || o->acquired[v->thread].n;
    if (!acquired && !v->race_reported && h->readers) {
      v->race_reported = true;
      report_race(v, n, n->warp * LANES + (u32)__builtin_ctz(n->lanes));
    }
    h->crowd = 0;
  }
  return false;
}

static void global_lane(Visit *v, u32 bytes) {
  Buffer *b = v->buffer;
  u32 shift = v->w->launch->global_shift;
  for (u32 g = v->offset >> shift; g <= (v->offset + bytes - 1) >> shift; g++) {
    if (b->hot[g] == HOT_SHARED_INPUT && (v->access == READS || v->access == PEEKS)) continue;
    v->granule = g;
    v->head = (Head *)&b->cell[g];
    if (b->hot[g] == HOT_UNINIT && v->reads && !v->uninit_reported) {
      v->uninit_reported = true;
      report_uninit(v);
    }
    if (crowded(v, &b->hot[g])) continue;
    visit(v);
    if (v->access == WRITES || v->access == UPDATES) b->hot[g] = HOT_TOUCHED;
  }
}

static void check_lane(Visit *v, u32 bytes) {
  if (v->buffer) global_lane(v, bytes);
  else shared_lane(v, bytes);
}

/* An access of every active lane to global memory, or to shared memory when `b` is NULL. */
static void check(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, enum Access access) {
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m);
    Visit v = {.w = w, .i = i, .buffer = b, .lane = l, .thread = thread_of(w, l), .offset = offset[l],
               .access = access, .reads = access != WRITES};
    check_lane(&v, bytes);
  }
}

/* A strong or atomic access: it acquires what was released there, and releases what was fenced. */
static void check_strong(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, Visit each,
                         bool releases) {
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m);
    u64 key = sync_key(w, b, offset[l]);
    Visit v = {.w = w, .i = i, .buffer = b, .lane = l, .thread = thread_of(w, l), .offset = offset[l],
               .access = each.access, .reads = each.reads};
    acquire_at(w, l, key);
    check_lane(&v, bytes);
    if (v.access == UPDATES) release_at(w, l, key, releases);
  }
}

static bool has_races(const Region *r) { return r->space == SHARED || r->space == GLOBAL; }

/* Volatile shared accesses order nothing (the old warp reductions) and count as plain ones, unless
 * the code has fences of scope .cta: then they may be the flags that these fences guard. */
static bool is_strong(const Warp *w, const Insn *i, const Region *r) {
  u32 orders = r->space == GLOBAL || w->launch->block_fences ? STRONG : STRONG & ~VOLATILE;
  return i->flag & orders;
}

static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r)) return;
  if (!is_strong(w, i, r)) check(w, i, r->buffer, offset, bytes, READS);
  else check_strong(w, i, r->buffer, offset, bytes, (Visit){.access = PEEKS, .reads = true}, false);
}

static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r)) return;
  if (!is_strong(w, i, r)) check(w, i, r->buffer, offset, bytes, WRITES);
  else check_strong(w, i, r->buffer, offset, bytes, (Visit){.access = UPDATES}, i->flag & RELEASE);
}

static void update(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r)) return;
  check_strong(w, i, r->buffer, offset, bytes, (Visit){.access = UPDATES, .reads = true}, i->flag & RELEASE);
}

static void read_copy(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  check(w, i, r->buffer, offset, bytes, READS);
}

static void write_copy(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, NULL, offset, i->size, WRITES);
}

/* An arrival at an mbarrier releases, a wait that succeeds acquires. */
enum { MBARRIER_BYTES = 8 };
static void set_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, NULL, offset, MBARRIER_BYTES, WRITES);
}
static void arrive_at_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  check_strong(w, i, NULL, offset, MBARRIER_BYTES, (Visit){.access = UPDATES, .reads = true}, true);
}
static void test_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, NULL, offset, MBARRIER_BYTES, PEEKS);
}
static void pass_mbarrier(Warp *w, u32 lane, u32 offset) { acquire_at(w, lane, sync_key(w, NULL, offset)); }

static bool listens(const Launch *n) { return n->exact; }

const Watcher races_ordered_watcher = {
    .listens = listens, .read = read, .read_part = read, .write = write, .atomic = update,
    .copy_read = read_copy, .copy_started = write_copy, .copy_completed = write_copy, .mbarrier_set = set_mbarrier,
    .mbarrier_arrived = arrive_at_mbarrier, .mbarrier_tested = test_mbarrier,
    .mbarrier_passed = pass_mbarrier};
