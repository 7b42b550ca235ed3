/* Findings, folded: one report for each kind, place and partner, with an exact count. Each worker keeps
 * its own; at the end of the launch they are merged into the first worker's. Past REPORTS different
 * ones, findings are only counted. */
#include <stdlib.h>
#include "machine/proof.h"
#include "watch/findings.h"

/* A read of global memory that nothing had written by then. */
typedef struct { u32 pc, buffer, block, thread, size; u64 address; } EarlyRead;
enum { MOST_EARLY = 1 << 14 };

typedef struct {
  u32 n, lost, last;      /* last: where the latest finding is, once one of it is counted */
  u32 made, at[REPORTS];  /* how many reports were stored so far; the number of each */
  Report r[REPORTS];
  u16 index[4 * REPORTS];
  EarlyRead *early;       /* the first ones: see name_never_written */
  u32 nearly, room;
} Reports;

static Reports *reports_of(const Worker *k) { return k->state[findings_slot]; }

static Spot spot_of(const Report *r) {
  return (Spot){r->kind, r->flags, r->pc, r->pc2, r->space, r->buffer, r->block};
}

static bool is_at(const Report *r, const Spot *p) {
  return r->kind == p->kind && r->pc == p->pc && r->pc2 == p->pc2 && r->flags == p->flags &&
         r->space == p->space && r->buffer == p->buffer;
}

static bool same_place(const Report *a, const Report *b) {
  Spot p = spot_of(b);
  return is_at(a, &p);
}

static u32 hash_of(const Report *r) {
  u64 h = r->pc * 0x9E3779B97F4A7C15ull + r->pc2 * 0xC2B2AE3D27D4EB4Full +
          (r->kind * 31 + r->flags * 7 + r->space + r->buffer * 131) * 0x165667B19E3779F9ull;
  return (u32)(h >> 40);
}

static void stop_at(Worker *k, const Report *r) {
  if (k->launch->stops_at_error && r->kind != EARLY_EXIT && !(r->flags & (INNER_ARRAY | KNOWN_OUTSIDE))) k->stop = true;
}

static void add(Worker *k, Report r, u32 number) {
  Reports *all = reports_of(k);
  stop_at(k, &r);
  u32 slots = sizeof all->index / sizeof *all->index, at = hash_of(&r) % slots;
  for (; all->index[at]; at = (at + 1) % slots) {
    Report *old = &all->r[all->index[at] - 1];
    if (!same_place(old, &r)) continue;
    all->last = all->index[at] - 1u;
    if (old->count == 0 || r.block < old->block) {
      u64 count = old->count;
      r.extra += r.kind == UNINIT ? old->extra : 0;
      *old = r;
      old->count = count;
      all->at[old - all->r] = number;
    } else if (r.kind == UNINIT) {
      old->extra += r.extra;
    }
    old->count += r.count;
    return;
  }
  if (all->n == REPORTS) {
    all->lost++;
    return;
  }
  all->at[all->n] = number;
  all->r[all->n++] = r;
  all->index[at] = (u16)all->n;
}

/* The latest finding, where it is at this place; NULL: it is not. A kernel that races finds a million times what it found
 * just before. */
static Report *latest_at(Reports *all, const Spot *p) {
  Report *old = &all->r[all->last];
  return old->count && p->block >= old->block && is_at(old, p) ? old : NULL;
}

bool found_again(Worker *k, const Spot *p) {
  Reports *all = reports_of(k);
  Report *old = latest_at(all, p);
  if (!old) return false;
  if (k->team->proof) disprove(k);
  all->made++;
  stop_at(k, old);
  old->count++;
  return true;
}

static void log_early(Reports *all, const Report *r) {
  if (all->nearly == all->room) {
    u32 room = all->room ? 4 * all->room : 256;
    EarlyRead *more = room <= MOST_EARLY ? realloc(all->early, room * sizeof *more) : NULL;
    if (!more) return;
    all->early = more;
    all->room = room;
  }
  all->early[all->nearly++] = (EarlyRead){r->pc, r->buffer, r->block, r->thread, r->size, r->address};
}

void report(Worker *k, Report r) {
  Reports *all = reports_of(k);
  if (r.kind == UNINIT && r.space == GLOBAL) log_early(all, &r);
  if (k->team->proof) disprove(k);
  Spot p = spot_of(&r);
  Report *old = latest_at(all, &p);
  u32 number = all->made++;
  if (!old) {
    add(k, r, number);
    return;
  }
  stop_at(k, &r);
  if (r.kind == UNINIT) old->extra += r.extra;
  old->count += r.count;
}

static Report *read_at(Reports *all, u32 pc, u32 space) {
  Report r = {.kind = UNINIT, .pc = pc, .space = space};
  u32 slots = sizeof all->index / sizeof *all->index;
  for (u32 at = hash_of(&r) % slots; all->index[at]; at = (at + 1) % slots)
    if (same_place(&all->r[all->index[at] - 1], &r)) return &all->r[all->index[at] - 1];
  return NULL;
}

/* block2: whether the read that is shown was taken off. */
void retract_read(Worker *k, u32 pc, u32 space, u32 thread) {
  Report *old = read_at(reports_of(k), pc, space);
  if (!old || !old->count) return;
  old->count--;
  old->extra++;
  if (old->thread == thread) old->block2 = 1;
}
void show_read(Worker *k, u32 pc, u32 space, u32 thread, u64 address) {
  Report *old = read_at(reports_of(k), pc, space);
  if (!old || !old->block2) return;
  old->block2 = 0;
  old->thread = thread;
  old->address = address;
}

static void make(Worker *k) {
  k->state[findings_slot] = calloc(1, sizeof(Reports));
  if (!reports_of(k)) out_of_memory(k);
}

/* Findings with a count of 0 were retracted; `extra` is how many of an uninitialized read were, which may
 * be more than a race. */
static bool remains(const Report *r) { return r->count || (r->kind == UNINIT && r->extra); }

static bool is_never_written(const Launch *n, const EarlyRead *e) {
  const Buffer *b = &n->buffer[e->buffer];
  u64 shift = n->global_shift, last = e->address + e->size - 1;
  if (!b->hot || last >= b->size) return false;
  for (u64 g = e->address >> shift; g <= last >> shift; g++)
    if (b->hot[g] == HOT_UNINIT) return true;
  return false;
}
/* An early read of what no thread of the launch writes is one in every order. Shows the first such read. */
static void name_never_written(const Launch *n, const Worker *all, u32 workers, Report *r) {
  for (u32 x = 0; x < workers; x++) {
    const Reports *own = reports_of(&all[x]);
    for (u32 k = 0; k < own->nearly; k++) {
      const EarlyRead *e = &own->early[k];
      bool later = (r->flags & NEVER_WRITTEN) && e->block >= r->block;
      if (e->pc != r->pc || e->buffer != r->buffer || later || !is_never_written(n, e)) continue;
      r->flags |= NEVER_WRITTEN;
      r->block = e->block;
      r->thread = e->thread;
      r->address = e->address;
    }
  }
}

/* The order in which one worker alone finds them: by block, as one worker ran all of a block. */
typedef struct { u32 key[4], slot; } Rank; /* block, number, both pcs */
static int compare(const void *a, const void *b) {
  const Rank *x = a, *y = b;
  for (u32 k = 0; k < 4; k++)
    if (x->key[k] != y->key[k]) return x->key[k] < y->key[k] ? -1 : 1;
  return 0;
}

static void merge(Launch *n, Worker *all, u32 workers) {
  Reports *first = reports_of(&all[0]);
  for (u32 x = 1; x < workers; x++) {
    const Reports *other = reports_of(&all[x]);
    for (u32 j = 0; j < other->n; j++)
      if (remains(&other->r[j])) add(&all[0], other->r[j], other->at[j]);
    first->lost += other->lost;
  }
  Rank order[REPORTS];
  for (u32 j = 0; j < first->n; j++) {
    const Report *r = &first->r[j];
    order[j] = (Rank){{r->block, first->at[j], r->pc, r->pc2}, j};
  }
  qsort(order, first->n, sizeof *order, compare);
  n->nreports = 0;
  for (u32 j = 0; j < first->n; j++)
    if (remains(&first->r[order[j].slot])) n->reports[n->nreports++] = first->r[order[j].slot];
  n->lost = first->lost;
  for (u32 j = 0; !n->chosen && j < n->nreports; j++) { /* of chosen blocks, others may write it */
    Report *r = &n->reports[j];
    if (r->kind == UNINIT && r->space == GLOBAL) name_never_written(n, all, workers, r);
  }
}

static void discard(Worker *k) {
  if (reports_of(k)) free(reports_of(k)->early);
  free(reports_of(k));
}

const Watcher findings_watcher = {.worker_started = make, .launch_ended = merge, .worker_ended = discard};
