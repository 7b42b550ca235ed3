/* The shadow of shared memory, the block's phases, and the shadow of what malloc allocates. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "watch/findings.h"
#include "watch/shadow.h"

enum { MOST_PENDING = 3 << 20 };
enum { LAST_PHASE = (1 << (32 - THREAD_BITS)) - 2 };

static u32 granules_of(const Launch *n) { return (n->shared_bytes >> n->shared_shift) + 1; }

static void make(Cta *c) {
  Shadow *s = c->state[shadow_slot] = calloc(1, sizeof *s);
  if (!s) { out_of_memory(c->worker); return; }
  u32 **arrays[] = {&s->wrote, &s->read1, &s->read2, &s->wrote_pc, &s->read1_pc, &s->read2_pc};
  for (u32 a = 0; a < sizeof arrays / sizeof *arrays; a++) {
    *arrays[a] = calloc(granules_of(c->worker->launch), sizeof(u32));
    if (!*arrays[a]) out_of_memory(c->worker);
  }
  s->phase = FIRST_PHASE << THREAD_BITS;
}

static void discard(Cta *c) {
  Shadow *s = shadow_of(c);
  if (!s) return;
  free(s->wrote); free(s->read1); free(s->read2);
  free(s->pending);
  free(s->wrote_pc); free(s->read1_pc); free(s->read2_pc);
  free(s);
}

bool write_voids(Worker *k, Buffer *b) {
  b->written = 1;
  if (!b->input) return false;
  k->stop = true;
  __atomic_store_n(&k->team->again, true, __ATOMIC_RELAXED);
  return true;
}

void log_uninit(Cta *c, u32 granule, u32 thread, u32 pc) {
  Shadow *s = shadow_of(c);
  if (s->npending + 3 > s->room) {
    u32 room = s->room ? 2 * s->room : 3 * 256;
    u32 *more = room <= MOST_PENDING ? realloc(s->pending, room * sizeof *more) : NULL;
    if (!more) return;
    s->pending = more;
    s->room = room;
  }
  s->pending[s->npending++] = granule;
  s->pending[s->npending++] = s->phase | thread;
  s->pending[s->npending++] = pc;
}

/* What the reader itself wrote afterwards does not explain its read. */
static void retract_explained(Cta *c) {
  Shadow *s = shadow_of(c);
  u64 each = 1ull << c->worker->launch->shared_shift;
  u32 shown = ~0u; /* lanes of one read follow each other, and it is shown once */
  for (u32 pass = 0; pass < 2; pass++)
    for (u32 k = 0; k < s->npending; k += 3) {
      u32 stamp = s->wrote[s->pending[k]], reader = s->pending[k + 1], pc = s->pending[k + 2];
      bool explained = stamp >= s->phase && stamp != reader;
      if (pc & FOLLOWED) {
        if (explained != pass) settle_read(c, pc & ~FOLLOWED, stamp_thread(reader), explained);
        continue;
      }
      if (explained && !pass) retract_read(c->worker, pc, SHARED, stamp_thread(reader));
      if (explained || !pass || pc == shown) continue;
      show_read(c->worker, pc, SHARED, stamp_thread(reader), s->pending[k] * each);
      shown = pc;
    }
  s->npending = 0;
}

/* Makes the stamps of this block in global memory those of an old phase. */
static void clear_cells(const Cta *c, const Buffer *b) {
  u64 granules = (b->size >> c->worker->launch->global_shift) + 1;
  u32 mine = c->number + 1;
  for (u64 g = 0; g < granules && !b->dead; g++) {
    Cell *k = &b->cell[g];
    if (__atomic_load_n(&k->writer, __ATOMIC_SEQ_CST) == mine) k->wrote = 0;
    if (__atomic_load_n(&k->reader, __ATOMIC_SEQ_CST) == mine) k->read1 = k->read2 = 0;
  }
}

/* A stamp has no room for more phases: they begin again, and all stamps become an old phase's. */
static void restart_phases(Cta *c) {
  const Launch *n = c->worker->launch;
  Shadow *s = shadow_of(c);
  for (u32 g = 0; g < granules_of(n); g++) {
    if (s->wrote[g] > GAP) s->wrote[g] = FIRST_PHASE;
    s->read1[g] = s->read2[g] = 0;
  }
  for (u32 b = 0; b < n->buffers; b++) clear_cells(c, &n->buffer[b]);
  s->phase = (FIRST_PHASE + 1) << THREAD_BITS;
}

static void next_phase(Cta *c) {
  Shadow *s = shadow_of(c);
  retract_explained(c);
  s->phase += 1u << THREAD_BITS;
  if (s->phase >> THREAD_BITS < LAST_PHASE) return;
  if (c->worker->launch->exact) abort_cta(c, LIMIT); /* the clocks of order.c cannot begin again */
  else restart_phases(c);
}

static void start_block(Cta *c) {
  const Launch *n = c->worker->launch;
  Shadow *s = shadow_of(c);
  if (n->exact) s->phase = FIRST_PHASE << THREAD_BITS; /* other blocks' accesses have their number */
  next_phase(c);
  memcpy(s->wrote, n->shared_init, (n->shared_bytes >> n->shared_shift) * sizeof(u32));
}

static void complete_barrier(Cta *c, u32 id, bool full) {
  (void)id;
  if (full) next_phase(c);
}

/* The shadow of an allocation: its granules' states and cells, in one piece. */
static void make_global(Warp *w, Buffer *b) {
  size_t granules = (b->size >> w->launch->global_shift) + 2, hot = (granules * sizeof(u32) + 15) / 16 * 16;
  u8 *p = calloc(1, hot + granules * sizeof(Cell));
  if (!p) { b->dead = 1; return; }
  b->hot = (u32 *)p;
  b->cell = (Cell *)(p + hot);
}

static void discard_global(Warp *w, Buffer *b) {
  (void)w;
  free(b->hot);
  b->hot = NULL;
  b->cell = NULL;
}

static void discard_allocations(Launch *n, Worker *all, u32 workers) {
  (void)all;
  (void)workers;
  for (u32 k = n->allocations; k < n->buffers; k++) free(n->buffer[k].hot);
}

const Watcher shadow_watcher = {
    .block_created = make, .block_started = start_block, .block_ended = retract_explained,
    .block_destroyed = discard, .barrier_completed = complete_barrier, .allocated = make_global,
    .freed = discard_global, .launch_ended = discard_allocations};
