/* One access, as races_ordered.c checks it, and what precedes it. */
#ifndef WATCH_VISIT_H
#define WATCH_VISIT_H
#include "watch/order.h"

/* One lane's access to one granule of an element. `reads`: it may read an uninitialized value;
 * `fails`: a compare-and-swap that writes nothing. */
typedef struct {
  Warp *w; const Insn *i; Buffer *buffer; Head *head;
  u32 lane, thread, offset, granule, access;
  u32 at, size;
  u32 earlier, took;                 /* the writes that this one hides; Node.took of it */
  bool reads, fails, race_reported, uninit_reported, loss_reported;
  bool knows_shown;                  /* whether Ledger.shown is that of this visit of the granule */
} Visit;

enum { STRONG = VOLATILE | ACQUIRE | RELEASE | RELAXED };

static inline bool is_read(u32 access) { return access == READS || access == PEEKS; }
static inline bool modifies(u32 access) { return !is_read(access); }
static inline bool is_waiting(u32 flag) { return (flag & (VOLATILE | WAITING)) == (VOLATILE | WAITING); }
static inline bool writes_strongly(const Node *n) { return n->access == UPDATES || n->access == STORES; }
static inline bool strong(u32 access) { return access >= UPDATES; }

static inline bool same_scope(const Visit *v, const Node *n) {
  return n->block == v->w->cta->number || !((n->flag | v->i->flag) & SCOPE_CTA);
}
static inline bool morally_strong(const Visit *v, const Node *n) {
  return strong(n->access) && strong(v->access) && same_scope(v, n) && n->at == v->at && n->size == v->size;
}

/* Volatile accesses to shared memory count as plain ones in code without fences, which cannot use them as
 * flags of other data: it is the old warp reduction. A load that waits is none of these. */
static inline bool is_strong(const Warp *w, const Insn *i, const Region *r) {
  bool flags = r->space == GLOBAL || w->launch->sync & HAS_FENCES || is_waiting(i->flag);
  return i->flag & (flags ? STRONG : STRONG & ~VOLATILE);
}

/* A volatile load that waits, and a volatile store that counts as a plain one. */
static inline bool awaits_store(const Visit *v, const Node *n) {
  u32 read = v->access == PEEKS ? v->i->flag : n->flag, write = v->access == PEEKS ? n->flag : v->i->flag;
  return ((v->access == PEEKS && n->access == WRITES) || (v->access == WRITES && n->access == PEEKS)) &&
         is_waiting(read) && write & VOLATILE && n->at == v->at && n->size == v->size;
}

/* Whether a load's value is data, or is waited for; `one`: until it is one value alone, or by
 * its size. */
static inline bool is_data(u32 flag) { return (flag & (DATA_READ | WAITING)) == DATA_READ; }
static inline bool awaits_one(u32 flag) { return (flag & (DATA_READ | WAITING)) == (DATA_READ | WAITING); }

/* A volatile read whose value is used as data, and a volatile store: no race in PTX, but nothing makes
 * the read wait for the store. */
static inline bool unwaited(const Visit *v, const Node *n) {
  u32 both = v->i->flag & n->flag;
  if (!(both & VOLATILE)) return false;
  return (v->access == PEEKS && is_data(v->i->flag) && n->access == STORES) ||
         (n->access == PEEKS && is_data(n->flag) && v->access == STORES);
}
static inline bool own(const Visit *v, const Node *n, u32 lane) {
  return n->block == v->w->cta->number && n->warp * LANES + lane == v->thread;
}

/* Whether a lane's access precedes this one by what the threads know of each other. */
static inline bool before(const Visit *v, const Node *n, u32 lane) {
  return own(v, n, lane) || ordered_before(v->w, v->thread, n->block, n->phase, n->warp * LANES + lane, n->epoch);
}
static inline bool any_before(const Visit *v, const Node *n) {
  for (u32 m = n->lanes; m; m &= m - 1)
    if (before(v, n, first_lane(m))) return true;
  return false;
}

/* observed.c */
bool is_overtaken(const Visit *v, const Node *n);
bool is_awaited(const Visit *v, const Node *n);
u32 unordered(Visit *v, const Node *n, bool *by_observation);
const Node *hidden_conflict(Visit *v, const Node *n);
bool is_evidence(const Visit *v, const Node *n);
void hide(Visit *v, u32 *link, u32 *shown);
void note_observed(Visit *v, const Node *n, bool observed);
void keep_hidden(Visit *v, Node *n);
void append(Ledger *g, u32 *list, u32 more);

/* Whether two accesses conflict where nothing orders them: a cheap look that may say so too often, and the
 * whole one, which may take long where a place has many readers. */
static inline bool may_conflict(const Visit *v, const Node *n) {
  if (is_read(n->access) && (is_read(v->access) || v->fails)) return false;
  return (!morally_strong(v, n) && !awaits_store(v, n)) || unwaited(v, n);
}
static inline bool conflict(const Visit *v, const Node *n) {
  if (!may_conflict(v, n)) return false;
  return (!morally_strong(v, n) && !awaits_store(v, n)) || !is_overtaken(v, n);
}

#endif
