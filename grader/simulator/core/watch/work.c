/* Work: how the instructions of a launch are spread over its threads, and how much of what threads read
 * came from other threads of their block through shared memory.
 *
 * A byte of shared memory is foreign to a thread when another thread wrote it last; what a thread wrote
 * and reads back itself is not. A byte of global memory is distinct when no thread of the same block
 * accessed it before: a block that shares all its data accesses no byte twice. A thread that updates one
 * element of global memory again and again stores it once; one that keeps an array there does not. */
#include <stdlib.h>
#include <string.h>
#include "machine/memory.h"
#include "machine/proof.h"
#include "machine/rows.h"
#include "watch/watchers.h"

typedef struct {
  u32 accessed[MAX_WARPS];      /* lanes that accessed global memory */
  u64 last[MAX_WARPS][LANES];   /* address of each thread's last write to global memory */
  u32 *writer;                  /* of each granule of shared memory: thread + 1; 0: none */
} BlockWork;

typedef struct {
  Work sum, before;             /* of all blocks; of those before this one */
  Work of[MOST_REPRESENTATIVES]; /* of a representative: what it counts for the blocks like it, too */
  u32 **stamp;                  /* by buffer, of each granule: number of the last block + 1 */
} WorkerWork;

static BlockWork *block_work(const Cta *c) { return c->state[work_slot]; }
static WorkerWork *worker_work(const Worker *k) { return k->state[work_slot]; }
static u32 granules(const Launch *n) { return (n->shared_bytes >> n->shared_shift) + 1; }

/* The buffers that the launch began with; malloc makes further ones. */
static u32 given(const Launch *n) { return n->allocations ? n->allocations : n->buffers; }

static bool listens(const Launch *n) { return n->work; }

static void make_worker(Worker *k) {
  WorkerWork *all = k->state[work_slot] = calloc(1, sizeof *all);
  if (all) all->stamp = calloc(given(k->launch) + 1, sizeof(u32 *));
  if (!all || !all->stamp) out_of_memory(k);
}

static void discard_worker(Worker *k) {
  WorkerWork *all = worker_work(k);
  for (u32 b = 0; all && all->stamp && b < given(k->launch); b++) free(all->stamp[b]);
  if (all) free(all->stamp);
  free(all);
}

static void make_block(Cta *c) {
  BlockWork *own = c->state[work_slot] = calloc(1, sizeof *own);
  if (own) own->writer = calloc(granules(c->worker->launch), sizeof(u32));
  if (!own || !own->writer) out_of_memory(c->worker);
}

static void discard_block(Cta *c) {
  if (block_work(c)) free(block_work(c)->writer);
  free(block_work(c));
}

static void start_block(Cta *c) {
  BlockWork *own = block_work(c);
  WorkerWork *all = worker_work(c->worker);
  all->before = all->sum;
  memset(own->accessed, 0, sizeof own->accessed);
  memset(own->last, 0, c->warps * sizeof *own->last);
  memset(own->writer, 0, granules(c->worker->launch) * sizeof(u32));
}

static void end_block(Cta *c) {
  Work *sum = &worker_work(c->worker)->sum, *before = &worker_work(c->worker)->before;
  if (c->representative)
    worker_work(c->worker)->of[c->representative - 1] =
        (Work){.foreign = sum->foreign - before->foreign, .dynamic = sum->dynamic - before->dynamic,
               .foreign_dynamic = sum->foreign_dynamic - before->foreign_dynamic};
  for (u32 x = 0; x < c->warps; x++) {
    const Warp *w = &c->warp[x];
    sum->working += (u32)__builtin_popcount(block_work(c)->accessed[x]);
    for (u32 m = w->valid; m; m &= m - 1) {
      u32 ran = w->ran[first_lane(m)];
      sum->instructions += ran;
      if (ran > sum->busiest) sum->busiest = ran;
    }
  }
}

/* What the blocks like representatives did in shared memory, which is not announced of them. */
static void add_alike(Launch *n, const Worker *k) {
  for (u32 r = 0; k->team->proof && r < MOST_REPRESENTATIVES; r++) {
    const Work *one = &worker_work(k)->of[r];
    u64 others = blocks_like(k->team, r) - 1;
    n->work->foreign += others * one->foreign;
    n->work->dynamic += others * one->dynamic;
    n->work->foreign_dynamic += others * one->foreign_dynamic;
  }
}

static void add_up(Launch *n, Worker *all, u32 workers) {
  for (u32 x = 0; x < workers; x++) {
    const Work *one = &worker_work(&all[x])->sum;
    if (one->busiest > n->work->busiest) n->work->busiest = one->busiest;
    n->work->instructions += one->instructions;
    n->work->working += one->working;
    n->work->foreign += one->foreign;
    n->work->distinct += one->distinct;
    n->work->dynamic += one->dynamic;
    n->work->foreign_dynamic += one->foreign_dynamic;
    n->work->stored += one->stored;
    add_alike(n, &all[x]);
  }
}

/* Counts the granules of global memory that the block accesses for the first time. */
static void count_distinct(Warp *w, const Region *r, const u32 *offset, u32 bytes) {
  const Launch *n = w->launch;
  WorkerWork *all = worker_work(w->worker);
  u32 shift = n->global_shift, b = (u32)(r->buffer - n->buffer), mark = w->cta->number + 1;
  if (b >= given(n)) return;
  if (!all->stamp[b]) all->stamp[b] = calloc((r->size >> shift) + 1, sizeof(u32));
  if (!all->stamp[b]) {
    out_of_memory(w->worker);
    return;
  }
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 first = offset[first_lane(m)];
    for (u32 g = first >> shift; g <= (first + bytes - 1) >> shift; g++) {
      all->sum.distinct += (u64)(all->stamp[b][g] != mark) << shift;
      all->stamp[b][g] = mark;
    }
  }
}

static void access_global(Warp *w, const Region *r, const u32 *offset, u32 bytes) {
  block_work(w->cta)->accessed[w->index] |= w->mask;
  if (w->launch->measures & COUNT_DISTINCT) count_distinct(w, r, offset, bytes);
}

static void count_stored(Warp *w, const Region *r, const u32 *offset, u32 bytes) {
  u64 *last = block_work(w->cta)->last[w->index], stored = 0;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 at = r->base + offset[l];
    stored += at != last[l];
    last[l] = at;
  }
  worker_work(w->worker)->sum.stored += stored * bytes;
}

/* Returns the lanes whose access is to dynamic shared memory. */
static u32 count_dynamic(Warp *w, const u32 *offset, u32 bytes) {
  u32 start = w->launch->dynamic_start, lanes = 0;
  for (u32 m = start < w->launch->shared_bytes ? w->mask : 0; m; m &= m - 1)
    lanes |= (u32)(offset[first_lane(m)] >= start) << first_lane(m);
  worker_work(w->worker)->sum.dynamic += (u64)bytes * (u32)__builtin_popcount(lanes);
  return lanes;
}

static void read_shared(Warp *w, const u32 *offset, u32 bytes) {
  const u32 *writer = block_work(w->cta)->writer;
  u32 shift = w->launch->shared_shift, each = ((bytes - 1) >> shift) + 1;
  u32 dynamic = count_dynamic(w, offset, bytes);
  u64 foreign = 0, part = 0;
  if (each == 1 && w->mask == FULL && (!dynamic || dynamic == FULL)) {
    u32 me = w->base + 1, many = 0;
    EACH_LANE { u32 x = writer[offset[l] >> shift]; many += x && x != me + (u32)l; }
    foreign = many;
    part = dynamic ? many : 0;
  } else {
    for (u32 m = w->mask; m; m &= m - 1) {
      u32 l = first_lane(m), many = 0;
      for (u32 k = 0; k < each; k++) {
        u32 x = writer[(offset[l] >> shift) + k];
        many += x && x != thread_of(w, l) + 1;
      }
      foreign += many;
      part += dynamic >> l & 1 ? many : 0;
    }
  }
  worker_work(w->worker)->sum.foreign += foreign << shift;
  worker_work(w->worker)->sum.foreign_dynamic += part << shift;
}

static void write_shared(Warp *w, const u32 *offset, u32 bytes) {
  count_dynamic(w, offset, bytes);
  u32 *writer = block_work(w->cta)->writer;
  u32 shift = w->launch->shared_shift, each = ((bytes - 1) >> shift) + 1;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    for (u32 k = 0; k < each; k++) writer[(offset[l] >> shift) + k] = thread_of(w, l) + 1;
  }
}

/* A load of which the program uses some bytes only moves all of them. */
static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  (void)i;
  if (r->space == GLOBAL) access_global(w, r, offset, bytes);
  else if (r->space == SHARED && w->launch->measures & COUNT_FOREIGN) read_shared(w, offset, bytes);
}

static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  (void)i;
  if (r->space == GLOBAL) {
    access_global(w, r, offset, bytes);
    count_stored(w, r, offset, bytes);
  } else if (r->space == SHARED && w->launch->measures & COUNT_FOREIGN) write_shared(w, offset, bytes);
}

/* Lanes that update one place read what the lane before them wrote. */
static void update(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space != SHARED || !(w->launch->measures & COUNT_FOREIGN)) {
    write(w, i, r, offset, bytes);
    return;
  }
  u32 *writer = block_work(w->cta)->writer, shift = w->launch->shared_shift;
  u32 dynamic = count_dynamic(w, offset, bytes);
  Work *sum = &worker_work(w->worker)->sum;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), me = thread_of(w, l) + 1, x = writer[offset[l] >> shift];
    if (x && x != me) {
      sum->foreign += bytes;
      sum->foreign_dynamic += dynamic >> l & 1 ? bytes : 0;
    }
    for (u32 k = 0; k <= (bytes - 1) >> shift; k++) writer[(offset[l] >> shift) + k] = me;
  }
}

static void complete_copy(Warp *w, const Insn *i, const u32 *offset) {
  if (w->launch->measures & COUNT_FOREIGN) write_shared(w, offset, i->size);
}

static void read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (!(w->launch->measures & (g->space == GLOBAL ? COUNT_DISTINCT : COUNT_FOREIGN))) {
    if (g->space == GLOBAL) block_work(w->cta)->accessed[w->index] |= w->mask;
    return;
  }
  spread(r, offset);
  read(w, i, g, offset, 4);
}
static void write_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (g->space != GLOBAL && !(w->launch->measures & COUNT_FOREIGN)) return;
  spread(r, offset);
  write(w, i, g, offset, 4);
}

const Watcher work_watcher = {
    .listens = listens, .worker_started = make_worker, .worker_ended = discard_worker,
    .block_created = make_block, .block_destroyed = discard_block, .block_started = start_block,
    .block_ended = end_block, .launch_ended = add_up, .read = read, .write = write, .atomic = update, .atomic_request = update,
    .request = read, .read_rows = read_rows, .write_rows = write_rows, .copy_read = read,
    .copy_completed = complete_copy};
