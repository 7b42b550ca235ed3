/* A launch by proof: chooses the representatives, compares signatures, and adds what the representatives
 * counted for the blocks like them. See proof.h. */
#include <stdlib.h>
#include <string.h>
#include "machine/proof.h"

/* The different ones of the first, the middle and the last of so many indices. */
static u32 chosen_of(u32 extent, u32 *index) {
  u32 all[3] = {0, extent / 2, extent - 1}, n = 0;
  for (u32 k = 0; k < 3; k++)
    if (!n || all[k] != index[n - 1]) index[n++] = all[k];
  return n;
}

static void choose(Proof *p, const Launch *n) {
  u32 x[3], y[3], z[3], nx = chosen_of(n->grid[0], x), ny = chosen_of(n->grid[1], y), nz = chosen_of(n->grid[2], z);
  for (u32 k = 0; k < nx * ny * nz && k < n->representatives; k++) {
    u64 row = (u64)z[k / nx / ny] * n->grid[1] + y[k / nx % ny];
    p->of[p->n++].number = row * n->grid[0] + x[k % nx];
  }
}

static bool make_counts(Representative *r, const Launch *n) {
  r->visits = calloc(n->blocks + 1, sizeof(u64));
  r->visit_lanes = calloc(n->blocks + 1, sizeof(u64));
  r->guarded = calloc(n->insns + 1, sizeof(u64));
  return r->visits && r->visit_lanes && r->guarded;
}

bool make_proof(Team *team, const Listeners *full, const Listeners *reduced) {
  Proof *p = team->proof = calloc(1, sizeof *p);
  const Launch *n = team->launch;
  if (!p) return false;
  p->reduced = *n;
  p->reduced.insn = n->reduced_insn;
  p->reduced.block = n->reduced_block;
  p->full = full;
  p->to_reduced = reduced;
  p->choosing = true;
  choose(p, n);
  for (u32 r = 0; r < p->n; r++)
    if (!make_counts(&p->of[r], n)) return false;
  return true;
}

void free_proof(Team *team) {
  Proof *p = team->proof;
  for (u32 r = 0; p && r < p->n; r++) {
    free(p->of[r].visits);
    free(p->of[r].visit_lanes);
    free(p->of[r].guarded);
  }
  free(p);
}

static bool is_representative(const Proof *p, u64 number) {
  for (u32 r = 0; r < p->n; r++)
    if (p->of[r].number == number) return true;
  return false;
}

/* The next block for a worker: of the representatives, or of the others. */
bool take_in_proof(Team *team, u64 *number) {
  const Proof *p = team->proof;
  do {
    *number = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED);
    if (*number >= (p->choosing ? p->n : team->launch->block_count)) return false;
  } while (!p->choosing && is_representative(p, *number));
  if (p->choosing) *number = p->of[*number].number;
  return true;
}

static void swap(u64 **a, u64 **b) {
  u64 *x = *a;
  *a = *b;
  *b = x;
}

/* A representative counts in arrays of its own; the worker's then take what reduced blocks count. */
static void swap_counts(Worker *k, Representative *r) {
  swap(&k->visits, &r->visits);
  swap(&k->visit_lanes, &r->visit_lanes);
  swap(&k->guarded, &r->guarded);
}

void start_in_proof(Cta *c) {
  Worker *k = c->worker;
  Proof *p = k->team->proof;
  c->reduced = !p->choosing;
  c->representative = 0;
  k->on = c->reduced ? p->to_reduced : p->full;
  for (u32 r = 0; p->choosing && r < p->n; r++)
    if (p->of[r].number == c->number) c->representative = r + 1;
  if (c->representative) swap_counts(k, &p->of[c->representative - 1]);
}

void watch_fully(Worker *k) { k->on = k->team->proof->full; }

static u64 signature_of(const Cta *c) {
  u64 all = 0;
  for (u32 x = 0; x < c->warps; x++) all = (all ^ c->warp[x].signature) * 0xC2B2AE3D27D4EB4Full + x;
  return all;
}

void end_in_proof(Cta *c) {
  Proof *p = c->worker->team->proof;
  u64 signature = signature_of(c);
  if (c->representative) {
    Representative *own = &p->of[c->representative - 1];
    swap_counts(c->worker, own);
    own->signature = signature;
    own->steps = c->steps;
    return;
  }
  for (u32 r = 0; r < p->n; r++) {
    if (p->of[r].signature != signature) continue;
    __atomic_fetch_add(&p->of[r].alike, 1, __ATOMIC_RELAXED);
    return;
  }
  disprove(c->worker);
}

static bool has_values(const Launch *n, const Buffer *b) {
  u64 granules = (b->size + (1ull << n->global_shift) - 1) >> n->global_shift;
  u32 none = 0;
  for (u64 g = 0; g < granules; g++) none |= b->hot[g] == HOT_UNINIT;
  return !none;
}

void begin_reduced_blocks(Team *team) {
  const Launch *n = team->launch;
  team->next = 0;
  team->proof->choosing = false;
  for (u32 k = 0; k < n->buffers; k++) {
    Buffer *b = &n->buffer[k];
    b->input = !b->written && !b->dead && has_values(n, b);
  }
}

static void drop_counts(Worker *k) {
  memset(k->visits, 0, k->launch->blocks * sizeof *k->visits);
  memset(k->visit_lanes, 0, k->launch->blocks * sizeof *k->visit_lanes);
  memset(k->guarded, 0, k->launch->insns * sizeof *k->guarded);
  k->steps = 0;
}

/* The counts of all blocks are those of the representatives, times the blocks like each. What the workers
 * counted themselves is of reduced blocks, whose code may lack parts. */
void count_alike(const Team *team, Worker *all, u32 workers) {
  const Launch *n = team->launch;
  for (u32 x = 0; x < workers; x++) drop_counts(&all[x]);
  for (u32 r = 0; r < team->proof->n; r++) {
    const Representative *one = &team->proof->of[r];
    u64 times = blocks_like(team, r);
    for (u32 j = 0; j < n->blocks; j++) {
      all->visits[j] += times * one->visits[j];
      all->visit_lanes[j] += times * one->visit_lanes[j];
    }
    for (u32 j = 0; j < n->insns; j++) all->guarded[j] += times * one->guarded[j];
    all->steps += times * one->steps;
  }
}

/* How many blocks a representative stands for, itself included. */
u64 blocks_like(const Team *team, u32 representative) {
  return team->proof->of[representative].alike + 1;
}

void check_assumption(Warp *w, const Insn *i, u32 space) {
  u32 assumed = w->launch->assumed[i->pc];
  if (assumed & ASSUMED_OUTSIDE && (space == SHARED || space == LOCAL)) disprove(w->worker);
  if (assumed & ASSUMED_LOCAL && space != LOCAL) disprove(w->worker);
  if (assumed & ASSUMED_NOT_GLOBAL && space == GLOBAL) disprove(w->worker);
}
