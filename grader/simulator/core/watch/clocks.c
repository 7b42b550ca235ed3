/* Clocks with shared parts: see clocks.h. Launches that need clocks run on one thread, so references
 * are counted without atomics. */
#include <stdlib.h>
#include <string.h>
#include "watch/order.h"

/* Few children: a changed clock has a new tree at each level, which counts a reference to each child. */
enum { BITS = 3, FANOUT = 1 << BITS };
typedef struct { u32 refs; u64 number; void *child[FANOUT]; } Tree;

Shape shape_of(const Launch *n) {
  Shape s = {.warps = (n->dim[0] * n->dim[1] * n->dim[2] + LANES - 1) / LANES};
  u64 blocks = (u64)n->grid[0] * n->grid[1] * n->grid[2];
  while (blocks > 1) { s.levels++; blocks = (blocks + FANOUT - 1) >> BITS; }
  return s;
}

void *shared_clock(void *node) {
  if (node) ++*(u32 *)node;
  return node;
}

static bool last_reference(void *node) { return node && !--*(u32 *)node; }

static void drop_lanes(Lanes *l) {
  if (last_reference(l)) free(l);
}

void drop_members(Shape s, Members **m) {
  if (last_reference(*m)) {
    for (u32 w = 0; w < s.warps; w++) drop_lanes((*m)->warp[w]);
    free(*m);
  }
  *m = NULL;
}

static void drop_node(Shape s, u32 level, void *node) {
  if (!level) {
    Members *m = node;
    drop_members(s, &m);
  } else if (last_reference(node)) {
    for (u32 c = 0; c < FANOUT; c++) drop_node(s, level - 1, ((Tree *)node)->child[c]);
    free(node);
  }
}

void drop_clock(Shape s, Clock **clock) {
  drop_node(s, s.levels, *clock);
  *clock = NULL;
}

static void *made(Worker *k, size_t bytes) {
  u32 *p = calloc(1, bytes);
  if (!p) { out_of_memory(k); return NULL; }
  *p = 1;
  return p;
}

static u64 new_number(Worker *k) { return ++ledger_of(k)->joins.numbers; }

static Tree *new_tree(Worker *k) {
  Tree *t = made(k, sizeof *t);
  if (t) t->number = new_number(k);
  return t;
}

static Join *join_of(Worker *k, u64 a, u64 b) {
  const u64 factor = 0x9E3779B97F4A7C15ull;
  return &ledger_of(k)->joins.kept[(a * factor + b) * factor >> 32 & (JOINS - 1)];
}

void drop_joins(Shape s, Joins *joins) {
  for (u32 j = 0; j < JOINS; j++) drop_node(s, joins->kept[j].level, joins->kept[j].both);
}

static size_t bytes_of_members(Shape s) { return offsetof(Members, warp) + s.warps * sizeof(Lanes *); }

static Members *new_members(Worker *k, Shape s, u32 phase) {
  Members *m = made(k, bytes_of_members(s));
  if (!m) return NULL;
  m->phase = phase;
  m->number = new_number(k);
  return m;
}

static Lanes *joined_lanes(Worker *k, Lanes *a, Lanes *b) {
  if (!b || a == b) return shared_clock(a);
  if (!a) return shared_clock(b);
  u32 below = 0, above = 0, most[LANES];
  for (u32 l = 0; l < LANES; l++) {
    below |= a->epoch[l] < b->epoch[l];
    above |= a->epoch[l] > b->epoch[l];
    most[l] = a->epoch[l] > b->epoch[l] ? a->epoch[l] : b->epoch[l];
  }
  if (!below) return shared_clock(a);
  if (!above) return shared_clock(b);
  Lanes *both = made(k, sizeof *both);
  if (both) memcpy(both->epoch, most, sizeof most);
  return both;
}

static Members *joined_members(Worker *k, Shape s, Members *a, Members *b) {
  Lanes *lanes[MAX_WARPS];
  bool is_a = true, is_b = true;
  for (u32 w = 0; w < s.warps; w++) {
    lanes[w] = joined_lanes(k, a->warp[w], b->warp[w]);
    is_a &= lanes[w] == a->warp[w];
    is_b &= lanes[w] == b->warp[w];
  }
  Members *both = is_a || is_b ? NULL : new_members(k, s, a->phase);
  if (both) {
    memcpy(both->warp, lanes, s.warps * sizeof *lanes);
    return both;
  }
  for (u32 w = 0; w < s.warps; w++) drop_lanes(lanes[w]);
  return shared_clock(is_a ? a : b);
}

static void *joined(Worker *k, Shape s, u32 level, void *a, void *b);

static Tree *joined_trees(Worker *k, Shape s, u32 level, Tree *a, Tree *b) {
  void *child[FANOUT];
  bool is_a = true, is_b = true;
  for (u32 c = 0; c < FANOUT; c++) {
    child[c] = joined(k, s, level - 1, a->child[c], b->child[c]);
    is_a &= child[c] == a->child[c];
    is_b &= child[c] == b->child[c];
  }
  Tree *both = is_a || is_b ? NULL : new_tree(k);
  if (both) {
    memcpy(both->child, child, sizeof child);
    return both;
  }
  for (u32 c = 0; c < FANOUT; c++) drop_node(s, level - 1, child[c]);
  return shared_clock(is_a ? a : b);
}

/* A later phase knows all that an earlier one does. */
static void *joined(Worker *k, Shape s, u32 level, void *a, void *b) {
  if (!b || a == b) return shared_clock(a);
  if (!a) return shared_clock(b);
  Members *m = a, *n = b;
  if (!level && m->phase != n->phase) return shared_clock(m->phase > n->phase ? a : b);
  u64 x = level ? ((Tree *)a)->number : m->number, y = level ? ((Tree *)b)->number : n->number;
  Join *known = join_of(k, x, y);
  if (known->a != x || known->b != y) {
    void *both = level ? (void *)joined_trees(k, s, level, a, b) : (void *)joined_members(k, s, m, n);
    drop_node(s, known->level, known->both);
    *known = (Join){.a = x, .b = y, .both = both, .level = level};
  }
  return shared_clock(known->both);
}

void join_members(Worker *k, Shape s, Members **to, Members *from) {
  if (!from || *to == from) return;
  Members *both = joined(k, s, 0, *to, from);
  drop_members(s, to);
  *to = both;
}

void join_clock(Worker *k, Shape s, Clock **to, Clock *from) {
  if (!from || *to == from) return;
  Clock *both = joined(k, s, s.levels, *to, from);
  drop_clock(s, to);
  *to = both;
}

static Members *own_members(Worker *k, Shape s, Members *m) {
  if (m->refs == 1) return m;
  Members *copy = new_members(k, s, m->phase);
  for (u32 w = 0; copy && w < s.warps; w++) copy->warp[w] = shared_clock(m->warp[w]);
  if (copy) m->refs--;
  return copy;
}

/* The epochs of a warp's lanes in `phase`, for the one owner of *m to change. */
static u32 *own_epochs(Worker *k, Shape s, Members **m, u32 phase, u32 warp) {
  if (*m && (*m)->phase != phase) drop_members(s, m);
  Members *mine = *m ? own_members(k, s, *m) : new_members(k, s, phase);
  if (!mine) return NULL;
  *m = mine;
  mine->number = new_number(k);
  Lanes **place = &mine->warp[warp], *old = *place;
  if (old && old->refs == 1) return old->epoch;
  Lanes *copy = made(k, sizeof *copy);
  if (!copy) return NULL;
  if (old) {
    memcpy(copy->epoch, old->epoch, sizeof copy->epoch);
    old->refs--;
  }
  *place = copy;
  return copy->epoch;
}

/* Makes `thread` known up to `epoch` of `phase`. */
void raise_epoch(Worker *k, Shape s, Members **m, u32 phase, u32 thread, u32 epoch) {
  if (*m && (*m)->phase == phase && epoch_in(*m, thread) >= epoch) return;
  u32 *mine = own_epochs(k, s, m, phase, thread / LANES);
  if (mine && mine[thread % LANES] < epoch) mine[thread % LANES] = epoch;
}

/* Makes lanes of a warp known, each up to its epoch. */
void raise_warp(Worker *k, Shape s, Members **m, u32 phase, u32 warp, u32 lanes, const u32 *epoch) {
  u32 *mine = own_epochs(k, s, m, phase, warp);
  if (!mine) return;
  EACH_LANE { mine[l] = lanes >> l & 1 && mine[l] < epoch[l] ? epoch[l] : mine[l]; }
}

const Members *members_of(Shape s, const Clock *clock, u32 block) {
  const void *at = clock;
  for (u32 level = s.levels; at && level; level--)
    at = ((const Tree *)at)->child[block >> BITS * (level - 1) & (FANOUT - 1)];
  return at;
}

static void *with(Worker *k, u32 level, const void *node, u32 block, Members *m) {
  if (!level) return shared_clock(m);
  Tree *copy = new_tree(k);
  if (!copy) return NULL;
  const Tree *old = node;
  u32 here = block >> BITS * (level - 1) & (FANOUT - 1);
  for (u32 c = 0; old && c < FANOUT; c++)
    if (c != here) copy->child[c] = shared_clock(old->child[c]);
  copy->child[here] = with(k, level - 1, old ? old->child[here] : NULL, block, m);
  return copy;
}

/* The clock with `m` as what is known of `block`. */
Clock *clock_with(Worker *k, Shape s, Clock *clock, u32 block, Members *m) {
  return with(k, s.levels, clock, block, m);
}
