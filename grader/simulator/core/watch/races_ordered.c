/* Data races and uninitialized reads where finer orders than full barriers occur: every granule keeps
 * the accesses that a later one may conflict with, and order.c decides what is ordered.
 *
 * Two conflicting accesses race unless they are morally strong, or one precedes the other in causality
 * order: by what the threads know of each other, or because a strong read that is before the later access
 * observed the earlier write. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "watch/visit.h"

enum { CROWD = 64, FEW_READERS = 4, NEWEST = 16, LEAST_READERS = 16, MOST_READERS = 128 };

static u32 flags_of(const Visit *v, const Node *n, u32 other) {
  bool here = n->block == v->w->cta->number, both = strong(n->access) && strong(v->access);
  u32 flags = modifies(v->access) ? STORE : 0;
  flags |= v->access == UPDATES ? ATOMIC : 0;
  flags |= modifies(n->access) ? OTHER_STORE : 0;
  flags |= n->access == UPDATES ? OTHER_ATOMIC : 0;
  flags |= both && !same_scope(v, n) ? BLOCK_SCOPE : 0;
  flags |= both && same_scope(v, n) && !morally_strong(v, n) ? MIXED_SIZE : 0;
  flags |= both && morally_strong(v, n) ? UNWAITED : 0;
  return flags | (!here ? ACROSS_BLOCKS : other / LANES == v->thread / LANES ? WITHIN_WARP : 0);
}

static void report_pair(Visit *v, const Node *n, u32 other, u32 kind, u32 flags) {
  const Warp *w = v->w;
  report(w->worker, (Report){.kind = kind, .flags = flags, .pc = v->i->pc, .pc2 = n->pc, .count = 1,
                             .space = v->buffer ? GLOBAL : SHARED, .address = v->offset,
                             .buffer = v->buffer ? (u32)(v->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .block2 = n->block, .thread = v->thread,
                             .thread2 = other, .size = (u32)v->i->size * v->i->count});
}

static void report_race(Visit *v, const Node *n, u32 other) {
  Warp *w = v->w;
  u32 flags = flags_of(v, n, other);
  u8 *data = v->buffer ? v->buffer->data : w->cta->shared;
  if (n->block == w->cta->number && n->warp == w->index && n->serial == (u32)w->steps && n->pc == v->i->pc) {
    flags |= SAME_INSTRUCTION;
    if (v->access == WRITES && lanes_store_same(w, v->i, v->lane, other % LANES)) flags |= SAME_VALUE;
  } else if (v->access == WRITES && flags & OTHER_STORE && stores_same(w, v->i, v->lane, data + v->offset)) {
    flags |= SAME_VALUE;
  }
  report_pair(v, n, other, RACE, flags);
}

/* Whether what conflicts with an access that precedes this one conflicts with this one too: a narrow access
 * of this block may conflict with the other block's alone. Strong accesses may be evidence besides. */
static bool alike(const Visit *v, const Node *n) {
  if (v->access == WRITES) return true;
  if (v->access != n->access || v->fails) return false;
  if (!strong(v->access)) return true;
  u32 kept = SCOPE_CTA | (v->access == PEEKS ? DATA_READ | WAITING : 0);
  if ((n->flag ^ v->i->flag) & kept || n->at != v->at || n->size != v->size) return false;
  return n->block == v->w->cta->number || !(v->w->launch->sync & HAS_BLOCK_SCOPE);
}

static bool is_own(const Visit *v, const Node *n) {
  return n->warp == v->w->index && n->block == v->w->cta->number && n->lanes >> v->lane & 1;
}

/* Whether an access of this lane, or one whose lanes all precede this access, need not be kept. */
static bool covers(const Visit *v, const Node *n, u32 lane) {
  if (!alike(v, n) || (lane != LANES && !is_own(v, n))) return false;
  return v->access == WRITES || !strong(v->access) || !is_evidence(v, n);
}

/* Drops from a list what the access covers; what is left. */
static u32 drop_covered(Visit *v, u32 *list) {
  Ledger *g = ledger_of(v->w->worker);
  bool hides = v->access == UPDATES || v->access == STORES;
  u32 length = 0, shown = 0;
  for (u32 *link = list; *link;) {
    Node *n = &g->node[*link - 1];
    if (n->gone && hides) { hide(v, link, &shown); continue; }
    if (n->covered && is_own(v, n)) n->lanes &= ~(1u << v->lane);
    if (n->gone || !n->lanes) { free_node(g, link); continue; }
    link = &n->next;
    length++;
  }
  append(g, list, shown);
  return length;
}

/* Checks a list, and drops from it the accesses that this one covers; what is left. */
static u32 against(Visit *v, u32 *list) {
  const Ledger *g = ledger_of(v->w->worker);
  u32 length = 0;
  bool any = false;
  for (u32 at = *list; at; at = g->node[at - 1].next, length++) {
    Node *n = &g->node[at - 1];
    bool matters = may_conflict(v, n), seen = false;
    u32 lane = matters || alike(v, n) ? unordered(v, n, &seen) : 0;
    any |= n->covered = covers(v, n, lane);
    n->gone = n->covered && lane == LANES;
    if (matters && lane == LANES) note_observed(v, n, seen);
    if (!matters || v->race_reported || (lane == LANES && !seen) || !conflict(v, n)) continue;
    const Node *other = lane != LANES ? n : hidden_conflict(v, n);
    if (!other) continue;
    v->race_reported = true;
    report_race(v, other, other->warp * LANES + (other == n ? lane : first_lane(other->lanes)));
  }
  return any ? drop_covered(v, list) : length;
}

/* Keeps the newest accesses of a list. */
static void shorten(Ledger *g, u32 *list, u32 most) {
  u32 *link = list;
  for (u32 n = 0; *link && n < most; n++) link = &g->node[*link - 1].next;
  free_list(g, link);
}

/* Before a read is added. Reads that a later one covers are dropped when as many were added as had been left:
 * for each read that compares a few, however many threads read the place. */
static void make_room_for_read(Visit *v) {
  Head *h = v->head;
  if (h->room) { h->room--; return; }
  u32 left = against(v, &h->readers), most = MOST_READERS / 2;
  if (left > most) shorten(ledger_of(v->w->worker), &h->readers, most);
  h->room = left > most ? most : left < LEAST_READERS ? LEAST_READERS : left;
}

static void add_node(Visit *v, u32 *list, u32 access, u32 epoch, u32 version) {
  const Warp *w = v->w;
  u32 at = new_node(w->worker);
  if (!at) return;
  ledger_of(w->worker)->node[at - 1] =
      (Node){.block = w->cta->number, .phase = phase_of(w->cta), .warp = w->index, .lanes = 1u << v->lane,
             .epoch = epoch, .pc = v->i->pc, .next = *list, .access = access, .serial = (u32)w->steps,
             .version = version, .chain = v->head->chain, .at = v->at, .size = (u16)v->size, .flag = v->i->flag};
  *list = at;
}

/* The node of the accesses that cannot be told apart from this one, if it is among the newest; 0: none. */
static u32 node_like(const Visit *v, u32 list, u32 access, u32 epoch, u32 version) {
  const Ledger *g = ledger_of(v->w->worker);
  for (u32 at = list, k = 0; at && k < NEWEST; at = g->node[at - 1].next, k++) {
    const Node *n = &g->node[at - 1];
    if (n->block == v->w->cta->number && n->warp == v->w->index && n->phase == phase_of(v->w->cta) &&
        n->epoch == epoch && n->access == access && n->pc == v->i->pc && n->at == v->at &&
        (access != PEEKS || n->version == version)) return at;
  }
  return 0;
}

static void join_node(const Visit *v, Node *n, u32 version) {
  n->lanes |= 1u << v->lane;
  n->superseded &= ~(1u << v->lane);
  n->followed = 0;
  n->serial = (u32)v->w->steps;
  n->version = version;
}

static void note_race(const Visit *v, u32 at) {
  if (v->race_reported && at) ledger_of(v->w->worker)->node[at - 1].raced = true;
}

static u32 epoch_of(const Visit *v) { return order_of(v->w->cta)->epoch[v->thread]; }

/* The value that a strong read gives; 0: nobody wrote one. */
static u32 version_of(const Head *h) { return h->writers ? h->version : 0; }

/* Lanes whose strong reads cannot be told apart share a node. `like`: one with the present value, if known. */
static void add_strong_read(Visit *v, u32 version, u32 like) {
  Head *h = v->head;
  u32 at = like && version == version_of(h) ? like : node_like(v, h->readers, PEEKS, epoch_of(v), version);
  if (at) {
    join_node(v, &ledger_of(v->w->worker)->node[at - 1], version);
  } else {
    make_room_for_read(v);
    add_node(v, &h->readers, PEEKS, epoch_of(v), version);
  }
  note_race(v, at ? at : h->readers);
}

/* A strong read of what nobody wrote since the lane read it before, which raced with nothing: there is
 * nothing to check, and nothing to drop that need be. `like`: a read that cannot be told apart. */
static bool repeats(const Visit *v, u32 like) {
  Node *n = like ? &ledger_of(v->w->worker)->node[like - 1] : NULL;
  if (!n || n->raced || !(n->lanes >> v->lane & 1)) return false;
  join_node(v, n, version_of(v->head));
  return true;
}

/* The strong write of the present value, when this access observes it. */
static u32 *observes(const Visit *v) {
  Ledger *g = ledger_of(v->w->worker);
  for (u32 *link = &v->head->writers; *link; link = &g->node[*link - 1].next) {
    const Node *n = &g->node[*link - 1];
    if (n->version == v->head->version && n->access != WRITES)
      return morally_strong(v, n) || any_before(v, n) ? link : NULL;
  }
  return NULL;
}

/* A read-modify-write takes the place of the one that it observed: whatever is ordered after it is
 * ordered after that one. Where scopes differ, both are kept. */
static bool takes_place(const Visit *v, const Node *n) {
  bool alike = !((n->flag ^ v->i->flag) & SCOPE_CTA) && n->at == v->at && n->size == v->size;
  bool near = n->block == v->w->cta->number || !(v->w->launch->sync & HAS_BLOCK_SCOPE);
  return n->access == UPDATES && alike && near && !is_evidence(v, n);
}

/* Notes the write of a value at the thread's own reads before. A thread that looks at a lock and then takes
 * it by a read-modify-write stores what it knows from that: other threads' attempts since are no updates
 * that its store loses. */
static void follow_reads(const Visit *v, u32 version) {
  const Ledger *g = ledger_of(v->w->worker);
  for (u32 at = v->head->readers; at; at = g->node[at - 1].next) {
    Node *n = &g->node[at - 1];
    if (n->block != v->w->cta->number || n->warp != v->w->index || !(n->lanes >> v->lane & 1)) continue;
    if (v->access == UPDATES) n->superseded |= 1u << v->lane;
    if (n->lanes == 1u << v->lane && !n->followed) n->followed = version;
  }
}

/* Lanes whose plain writes cannot be told apart share a node; a strong write has one of its own. */
static void add_write(Visit *v) {
  Head *h = v->head;
  u32 at = v->access == WRITES ? node_like(v, h->writers, WRITES, epoch_of(v), 0) : 0;
  if (at) join_node(v, &ledger_of(v->w->worker)->node[at - 1], h->version);
  else add_node(v, &h->writers, v->access, epoch_of(v), h->version);
  note_race(v, at ? at : h->writers);
}

static void write_value(Visit *v, bool chained) {
  Head *h = v->head;
  Ledger *g = ledger_of(v->w->worker);
  if (v->access != WRITES) follow_reads(v, h->version + 1);
  u32 *last = chained ? observes(v) : NULL, shown = 0;
  if (last && takes_place(v, &g->node[*last - 1])) hide(v, last, &shown);
  append(g, &h->writers, shown);
  h->version++;
  if (!chained) h->chain = v->access == WRITES ? h->version + 1 : h->version;
  if (v->access == WRITES) forget(v->w->worker, h);
  u32 before = h->writers;
  add_write(v);
  if (h->writers != before) g->node[h->writers - 1].took = (u8)v->took;
  if (h->writers != before && v->earlier) keep_hidden(v, &g->node[h->writers - 1]);
  free_list(g, &v->earlier);
}

/* A strong store of what the thread made of a value that it read there, or compared with that by size: other
 * threads' writes between are lost. Of a store that the value only led to, any thread's may be the last. That the
 * read observed a write does not help: it need not have, unless the thread waited for that value. */
static void check_loss(Visit *v) {
  Ledger *g = ledger_of(v->w->worker);
  const Node *read = NULL;
  if (v->loss_reported || v->race_reported) return;
  for (u32 at = v->head->readers; at && !read; at = g->node[at - 1].next) {
    const Node *n = &g->node[at - 1];
    if (n->access == PEEKS && n->block == v->w->cta->number && n->warp == v->w->index &&
        n->lanes >> v->lane & 1 && n->at == v->at && n->size == v->size) read = n;
  }
  if (!read || read->flag & WAITING) return;
  const u8 *data = v->buffer ? v->buffer->data : v->w->cta->shared;
  bool depends = v->i->flag & DATA_READ;
  if (!depends && (!(v->i->used & UPDATE_BEST) || read->superseded >> v->lane & 1)) return;
  bool differs = !stores_same(v->w, v->i, v->lane, data + v->offset);
  for (u32 at = v->head->writers; at; at = g->node[at - 1].next) {
    const Node *n = &g->node[at - 1];
    u32 lane = first_lane(n->lanes);
    if (own(v, n, lane)) continue;
    bool now = n->warp == v->w->index && n->block == v->w->cta->number && n->pc == v->i->pc &&
               n->serial == (u32)v->w->steps; /* the same instruction, of which memory has nothing yet */
    bool other_value = now ? !lanes_store_same(v->w, v->i, v->lane, lane) : differs;
    bool between = n->version > read->version && other_value;
    bool missed = n->version > read->version || !(before(v, n, lane) || is_awaited(v, n));
    if (!between && !(depends && missed)) continue;
    v->loss_reported = true;
    u32 other = n->warp * LANES + lane;
    report_pair(v, n, other, LOST_UPDATE, flags_of(v, n, other) & ~(UNWAITED | MIXED_SIZE | BLOCK_SCOPE));
    return;
  }
}

/* Notes a plain read: with those of the warp's other lanes, and for an earlier one of the lane. */
static void note_read(Visit *v) {
  const Warp *w = v->w;
  Ledger *g = ledger_of(w->worker);
  u32 epoch = order_of(w->cta)->epoch[v->thread], phase = phase_of(w->cta);
  for (u32 *link = &v->head->readers; *link;) {
    Node *n = &g->node[*link - 1];
    if (n->warp == w->index && n->block == w->cta->number && n->phase == phase && n->access == READS) {
      if (n->epoch == epoch && n->pc == v->i->pc) {
        n->lanes |= 1u << v->lane;
        n->serial = (u32)w->steps;
        return;
      }
      n->lanes &= ~(1u << v->lane);
      if (!n->lanes) { free_node(g, link); continue; }
    }
    link = &n->next;
  }
  make_room_for_read(v);
  add_node(v, &v->head->readers, READS, epoch, 0);
}

static void visit(Visit *v) {
  Ledger *g = ledger_of(v->w->worker);
  Head *h = v->head;
  v->knows_shown = false;
  v->took = 0;
  if (v->access == READS) {
    if (h->writers) against(v, &h->writers);
    note_read(v);
    return;
  }
  u32 like = v->access == PEEKS ? node_like(v, h->readers, PEEKS, epoch_of(v), version_of(h)) : 0;
  if (repeats(v, like)) return;
  u32 version = is_read(v->access) && observes(v) ? h->version : 0;
  bool chained = v->access == UPDATES && !v->fails && observes(v);
  if (v->access == STORES) check_loss(v);
  u32 writers = against(v, &h->writers);
  if (is_read(v->access) || v->fails) {
    add_strong_read(v, v->fails && observes(v) ? h->version : version, like);
    return;
  }
  against(v, &h->readers);
  if (writers >= CROWD) shorten(g, &h->writers, CROWD - 1);
  write_value(v, chained);
}

static void report_uninit(Visit *v) {
  Warp *w = v->w;
  report(w->worker, (Report){.kind = UNINIT, .pc = v->i->pc, .space = v->buffer ? GLOBAL : SHARED,
                             .buffer = v->buffer ? (u32)(v->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .thread = v->thread, .count = 1,
                             .size = (u32)v->i->size * v->i->count, .address = v->offset});
}

/* Whether a store left a value there that was never set, which is reported. */
static bool is_kept(const Visit *v) {
  const Launch *n = v->w->launch;
  u32 shift = v->buffer ? n->global_shift : n->shared_shift;
  return report_kept(v->w, v->i, v->lane, v->buffer ? GLOBAL : SHARED, v->buffer, v->granule << shift);
}

/* False: the access is to a gap between variables. */
static bool check_shared_state(Visit *v) {
  Cta *c = v->w->cta;
  u32 *stamp = &shadow_of(c)->wrote[v->granule];
  if (*stamp == GAP) {
    u64 base = v->i->space == SHARED ? 0 : SHARED_BASE;
    report_invalid(v->w, v->i, v->lane, base + v->offset, (u32)v->i->size * v->i->count,
                   is_read(v->access) ? 0 : STORE);
    return false;
  }
  if (*stamp == 0 && v->reads && !v->uninit_reported) {
    v->uninit_reported = true;
    if (!is_kept(v)) {
      if (v->access != UPDATES) log_uninit(c, v->granule, v->thread, v->i->pc);
      report_uninit(v);
    }
  }
  if (modifies(v->access)) *stamp = phase_of(c) | v->thread;
  return true;
}

static void shared_lane(Visit *v, u32 bytes) {
  Cta *c = v->w->cta;
  u32 shift = v->w->launch->shared_shift;
  for (u32 g = v->offset >> shift; g <= (v->offset + bytes - 1) >> shift; g++) {
    v->granule = g;
    if (!check_shared_state(v)) return;
    v->head = head_in_phase(ledger_of(v->w->worker), order_of(c), g, phase_of(c));
    visit(v);
  }
}

/* Whether few have read a place, or some by strong reads: then threads meet there, and each read counts. */
static bool has_few_readers(const Visit *v) {
  const Ledger *g = ledger_of(v->w->worker);
  u32 n = 0;
  for (u32 at = v->head->readers; at && n < FEW_READERS; at = g->node[at - 1].next, n++)
    if (g->node[at - 1].access != READS) return true;
  return n < FEW_READERS;
}

/* Readers of several blocks and no writer: a crowd, whose reads are not kept. True: nothing to check. */
static bool crowded(Visit *v, u32 *hot) {
  Head *h = v->head;
  bool reads = v->access == READS;
  if (reads && h->readers && !h->writers && *hot == HOT_INIT &&
      ledger_of(v->w->worker)->node[h->readers - 1].block != v->w->cta->number && !has_few_readers(v)) {
    h->crowd = 1;
    *hot = HOT_SHARED_INPUT;
    return true;
  }
  if (!reads && h->crowd && v->access != PEEKS && !v->fails) {
    const Node *n = &ledger_of(v->w->worker)->node[h->readers - 1];
    bool acquired = order_of(v->w->cta)->clocks[v->thread].far;
    if (!acquired && !v->race_reported && h->readers) {
      v->race_reported = true;
      report_race(v, n, n->warp * LANES + first_lane(n->lanes));
    }
    h->crowd = 0;
  }
  return false;
}

static void global_lane(Visit *v, u32 bytes) {
  Buffer *b = v->buffer;
  u32 shift = v->w->launch->global_shift;
  for (u32 g = v->offset >> shift; g <= (v->offset + bytes - 1) >> shift; g++) {
    if (b->hot[g] == HOT_SHARED_INPUT && is_read(v->access)) continue;
    v->granule = g;
    v->head = (Head *)&b->cell[g];
    if (b->hot[g] == HOT_UNINIT && v->reads && !v->uninit_reported) {
      v->uninit_reported = true;
      if (!is_kept(v)) report_uninit(v);
    }
    if (crowded(v, &b->hot[g])) continue;
    visit(v);
    if (modifies(v->access)) b->hot[g] = HOT_TOUCHED;
  }
}

static void check_lane(Visit *v, u32 bytes) {
  if (v->buffer) global_lane(v, bytes);
  else shared_lane(v, bytes);
}

/* A plain access of every active lane to global memory, or to shared memory when `b` is NULL. */
static void check(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, enum Access access) {
  Visit v = {.w = w, .i = i, .buffer = b, .size = bytes, .access = access,
             .reads = access != WRITES && !is_followed(i)};
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    m = access == READS ? take_reads(w, i, b, offset, bytes, m) : take_writes(w, i, b, offset, bytes, m);
    if (!m) return;
    v.lane = first_lane(m);
    v.thread = thread_of(w, v.lane);
    v.offset = v.at = offset[v.lane];
    v.race_reported = v.uninit_reported = v.loss_reported = false;
    check_lane(&v, bytes);
  }
}

static Place place_of(Warp *w, Buffer *b, u32 offset, u32 bytes) {
  u32 shift = b ? w->launch->global_shift : w->launch->shared_shift, first = offset >> shift;
  u32 granules = ((offset + bytes - 1) >> shift) - first + 1;
  if (!b) mark_used(order_of(w->cta), first, granules);
  return (Place){.buffer = b, .head = b ? (Head *)&b->cell[first] : &order_of(w->cta)->head[first],
                 .granules = granules, .offset = offset, .size = bytes};
}

/* A strong access to one element by one lane. It acquires what the value there carries; a write carries
 * what the thread has released. */
static void check_strong(Visit v, u32 flag) {
  Warp *w = v.w;
  const Place p = place_of(w, v.buffer, v.at, v.size);
  if (v.access != STORES) observe(w, v.lane, &p, flag);
  check_lane(&v, v.size);
  if (modifies(v.access) && !v.fails) carry(w, v.lane, &p, flag, v.access == UPDATES);
}

/* Each element of a vector is an access of its own. */
static void check_elements(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes,
                           enum Access access) {
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m);
    Visit v = {.w = w, .i = i, .buffer = b, .lane = l, .thread = thread_of(w, l), .size = i->size,
               .access = access, .reads = access != STORES};
    for (u32 e = 0; e < bytes / i->size; e++) {
      v.at = v.offset = offset[l] + e * i->size;
      check_strong(v, i->flag);
    }
  }
}

static bool has_races(const Region *r) { return r->space == SHARED || r->space == GLOBAL; }
static bool voids(const Warp *w, const Region *r) { return r->space == GLOBAL && write_voids(w->worker, r->buffer); }

static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r) || is_reload(i)) return;
  if (is_strong(w, i, r)) check_elements(w, i, r->buffer, offset, bytes, PEEKS);
  else check(w, i, r->buffer, offset, bytes, READS);
}

static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r) || voids(w, r)) return;
  if (is_strong(w, i, r)) check_elements(w, i, r->buffer, offset, bytes, STORES);
  else check(w, i, r->buffer, offset, bytes, WRITES);
}

static void update(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!has_races(r) || voids(w, r)) return;
  u32 failing = failing_lanes(w, i, r, offset);
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    if (!failing && !(m = take_updates(w, i, r->buffer, offset, bytes, m))) return;
    u32 l = first_lane(m);
    check_strong((Visit){.w = w, .i = i, .buffer = r->buffer, .lane = l, .thread = thread_of(w, l),
                         .offset = offset[l], .at = offset[l], .size = bytes, .access = UPDATES,
                         .reads = needs_old_value(w, i, l), .fails = failing >> l & 1},
                 i->flag | (draws_ticket(w, i, l) ? TICKET : 0));
  }
}

/* An atomic of libcu++ on a part of a word. */
static void update_part(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (i->exec == ptx_st) write(w, i, r, offset, bytes);
  else update(w, i, r, offset, bytes);
}

static void read_copy(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  check(w, i, r->buffer, offset, bytes, READS);
}

static void write_copy(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, NULL, offset, i->size, WRITES);
}

static void copy_out(Warp *w, const Insn *i, const u32 *from, const Region *r, const u32 *offset) {
  check(w, i, NULL, from, i->size, READS);
  if (r->space == GLOBAL && !voids(w, r)) check(w, i, r->buffer, offset, i->size, WRITES);
}

/* An arrival at an mbarrier releases, a wait that succeeds acquires: what the completed phases' arrivals
 * released, not what those of the present phase did. */
enum { MBARRIER_BYTES = 8 };
static Visit visit_of_mbarrier(Warp *w, const Insn *i, u32 l, u32 offset, enum Access access) {
  return (Visit){.w = w, .i = i, .lane = l, .thread = thread_of(w, l), .offset = offset, .at = offset,
                 .size = MBARRIER_BYTES, .access = access, .reads = true};
}
static u32 flag_of_mbarrier(const Warp *w, const Insn *i, u32 orders) {
  return (i->flag & RELAXED ? RELAXED : orders) | PASSED_ON | (first_scope(w) == BLOCK ? SCOPE_CTA : 0);
}
static void set_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, NULL, offset, MBARRIER_BYTES, WRITES);
  for (u32 m = w->mask; m; m &= m - 1) forget_phases(w->cta, offset[first_lane(m)]);
}
static void arrive_at_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m);
    check_strong(visit_of_mbarrier(w, i, l, offset[l], UPDATES), flag_of_mbarrier(w, i, RELEASE));
  }
}
static void test_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m);
    Visit v = visit_of_mbarrier(w, i, l, offset[l], PEEKS);
    check_lane(&v, MBARRIER_BYTES);
  }
}
static void complete_mbarrier(Warp *w, u32 offset) {
  const Place p = place_of(w, NULL, offset, MBARRIER_BYTES);
  complete_phase(w, &p);
}
static void pass_mbarrier(Warp *w, const Insn *i, u32 lane, u32 offset) {
  const Place p = place_of(w, NULL, offset, MBARRIER_BYTES);
  observe_phase(w, lane, &p, flag_of_mbarrier(w, i, ACQUIRE));
}

static bool listens(const Launch *n) { return n->exact; }

const Watcher races_ordered_watcher = {
    .listens = listens, .read = read, .read_part = read, .write = write, .atomic = update,
    .atomic_part = update_part,
    .copy_read = read_copy, .copy_started = write_copy, .copy_completed = write_copy, .copied_out = copy_out, .mbarrier_set = set_mbarrier,
    .mbarrier_arrived = arrive_at_mbarrier, .mbarrier_completed = complete_mbarrier,
    .mbarrier_tested = test_mbarrier, .mbarrier_passed = pass_mbarrier};
