/* The watcher of races and uninitialised reads.
 *
 * A block's life is cut into phases by its full barriers. Two accesses to one granule by
 * different threads, one of them a write, are ordered when a barrier lies between them, and only
 * then (finer orders: order.c). A granule keeps its last writer and two different readers of the
 * phase, which is enough to see that a conflict exists: any writer differs from one of them.
 * A stamp is phase << 10 | thread; below FIRST_PHASE it says what no thread wrote. */
#include "memory.h"

static Report race_at(const Warp *w, const Insn *i, u32 lane, u32 flags, u32 space) {
  return (Report){.kind = RACE, .flags = flags, .pc = i->pc, .space = space, .count = 1,
                  .block = w->cta->number, .block2 = w->cta->number,
                  .thread = thread_of(w, lane), .size = (u32)i->size * i->count};
}

static u32 warp_flag(const Warp *w, u32 lane, u32 other) {
  return thread_of(w, lane) / LANES == other / LANES ? WITHIN_WARP : 0;
}

static void say_shared(Warp *w, const Insn *i, u32 lane, u32 flags, u32 offset, u32 stamp, u32 pc) {
  u32 other = stamp & (MAX_BLOCK_THREADS - 1);
  Report r = race_at(w, i, lane, flags | warp_flag(w, lane, other), SHARED);
  r.pc2 = pc;
  r.thread2 = other;
  r.address = offset;
  report(w->worker, r);
}

static void say_uninit(Warp *w, const Insn *i, u32 lane, u32 space, u32 buffer, u64 offset) {
  Report r = race_at(w, i, lane, 0, space);
  r.kind = UNINIT;
  r.buffer = buffer;
  r.address = offset;
  report(w->worker, r);
}

static void say_gap(Warp *w, const Insn *i, u32 lane, u32 offset, u32 flags) {
  watch_invalid(w, i, lane, offset + (i->space == SHARED ? 0 : SHARED_BASE),
                (u32)i->size * i->count, flags);
}

/* Log a read of nothing: if another thread's write of this phase turns up, the race explains it. */
void log_uninit(Cta *c, u32 granule, u32 thread, u32 pc) {
  if (c->npending + 3 > sizeof c->pending / sizeof *c->pending) return;
  c->pending[c->npending++] = granule;
  c->pending[c->npending++] = c->phase | thread;
  c->pending[c->npending++] = pc;
}

static void read_slowly(Warp *w, const Insn *i, u32 lane, u32 offset, u32 bytes) {
  Cta *c = w->cta;
  Shadow *s = &c->shadow;
  u32 shift = w->launch->shared_shift, cb = c->phase, me = cb | thread_of(w, lane), said = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    u32 stamp = s->wrote[g];
    if (stamp == GAP && !(said & 1)) {
      say_gap(w, i, lane, offset, 0);
      return;
    }
    if (stamp == 0 && !(said & 2)) {
      said |= 2;
      log_uninit(c, g, thread_of(w, lane), i->pc);
      say_uninit(w, i, lane, SHARED, 0, offset);
    }
    if (stamp >= cb && stamp != me && !(said & 4)) {
      said |= 4;
      say_shared(w, i, lane, OTHER_STORE, offset, stamp, s->wrote_pc[g]);
    }
    if (s->read1[g] < cb) {
      s->read1[g] = me;
      s->read1_pc[g] = i->pc;
    } else if (s->read1[g] != me && s->read2[g] < cb) {
      s->read2[g] = me;
      s->read2_pc[g] = i->pc;
    }
  }
}

/* Lanes in a row that read one granule: their number of runs, and where each begins. */
static u32 runs_of(const u32 *offset, u32 starts[LANES]) {
  u32 n = 1;
  starts[0] = 0;
  for (u32 l = 1; l < LANES; l++) {
    starts[n] = l;
    n += offset[l] != offset[l - 1];
  }
  return n;
}

/* Few runs: the granule's state is looked at once a run; its first two lanes are its readers. */
static void read_runs(Warp *w, const Insn *i, const u32 *offset, u32 bytes, const u32 *starts, u32 n) {
  Shadow *s = &w->cta->shadow;
  u32 shift = w->launch->shared_shift, cb = w->cta->phase, me = cb | w->base, pc = i->pc;
  for (u32 k = 0; k < n; k++) {
    u32 l = starts[k], end = k + 1 < n ? starts[k + 1] : LANES, g = offset[l] >> shift;
    if (s->wrote[g] - FIRST_PHASE >= cb - FIRST_PHASE) {
      for (; l < end; l++) read_slowly(w, i, l, offset[l], bytes);
      continue;
    }
    for (u32 two = 0; two < 2 && l < end && s->read2[g] < cb; two++, l++) {
      if (s->read1[g] < cb) {
        s->read1[g] = me + l;
        s->read1_pc[g] = pc;
      } else if (s->read1[g] != me + l) {
        s->read2[g] = me + l;
        s->read2_pc[g] = pc;
      }
    }
  }
}

void watch_shared_read(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  if (w->launch->exact) {
    exact_shared(w, i, offset, bytes, READS);
    return;
  }
  const Shadow *s = &w->cta->shadow;
  const u32 *wrote = s->wrote, *read2 = s->read2;
  u32 shift = w->launch->shared_shift, cb = w->cta->phase, me = cb | w->base, slow = 0;
  u32 granules = bytes >> shift, starts[LANES + 1];
  if (granules <= 1 && w->mask == FULL) {
    u32 n = runs_of(offset, starts);
    if (n <= 8) {
      read_runs(w, i, offset, bytes, starts, n);
      return;
    }
  }
  for (u32 k = 0; k < (granules ? granules : 1); k++) {
    u32 mark[LANES], any = 0;
    EACH_LANE {
      u32 g = (offset[l] >> shift) + k, stamp = wrote[g];
      u32 fine = (stamp - FIRST_PHASE < cb - FIRST_PHASE) | (stamp == me + (u32)l);
      mark[l] = fine & (read2[g] >= cb) ? 0 : 1u << l;
    }
    EACH_LANE { any |= mark[l]; }
    slow |= any;
  }
  for (slow &= w->mask; slow; slow &= slow - 1) {
    u32 l = (u32)__builtin_ctz(slow);
    read_slowly(w, i, l, offset[l], bytes);
  }
}

static void write_conflicts(Warp *w, const Insn *i, u32 lane, u32 offset, u32 bytes) {
  Cta *c = w->cta;
  Shadow *s = &c->shadow;
  u32 shift = w->launch->shared_shift, cb = c->phase, me = cb | thread_of(w, lane), said = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    u32 stamp = s->wrote[g], flags = STORE;
    if (stamp == GAP) {
      say_gap(w, i, lane, offset, STORE);
      return;
    }
    if (stamp >= cb && stamp != me && !(said & 1)) {
      said |= 1;
      if (stores_same(w, i, lane, c->shared + offset)) flags |= SAME_VALUE;
      say_shared(w, i, lane, flags | OTHER_STORE, offset, stamp, s->wrote_pc[g]);
    }
    if (said & 2) continue;
    if (s->read1[g] >= cb && s->read1[g] != me) {
      said |= 2;
      say_shared(w, i, lane, STORE, offset, s->read1[g], s->read1_pc[g]);
    } else if (s->read2[g] >= cb && s->read2[g] != me) {
      said |= 2;
      say_shared(w, i, lane, STORE, offset, s->read2[g], s->read2_pc[g]);
    }
  }
}

/* Lanes of one instruction that wrote one granule: the last one's stamp stands. */
static void same_instruction(Warp *w, const Insn *i, u32 lane, u32 offset, u32 winner) {
  u32 flags = STORE | OTHER_STORE | SAME_INSTRUCTION;
  u32 other = (winner & (MAX_BLOCK_THREADS - 1)) - w->base;
  if (lanes_store_same(w, i, lane, other)) flags |= SAME_VALUE;
  say_shared(w, i, lane, flags, offset, winner, i->pc);
}

void watch_shared_write(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  if (w->launch->exact) {
    exact_shared(w, i, offset, bytes, WRITES);
    return;
  }
  Shadow *s = &w->cta->shadow;
  u32 shift = w->launch->shared_shift, cb = w->cta->phase, me = cb | w->base, slow = 0, lost = 0;
  u32 granules = bytes >> shift ? bytes >> shift : 1;
  for (u32 k = 0; k < granules; k++)
    for (u32 l = 0; l < LANES; l++) {
      u32 g = (offset[l] >> shift) + k, mine = me + l, stamp = s->wrote[g];
      bool fine = (stamp < cb || stamp == mine) && stamp != GAP &&
                  (s->read1[g] < cb || s->read1[g] == mine) &&
                  (s->read2[g] < cb || s->read2[g] == mine);
      slow |= (u32)!fine << l;
    }
  for (slow &= w->mask; slow; slow &= slow - 1) {
    u32 l = (u32)__builtin_ctz(slow);
    write_conflicts(w, i, l, offset[l], bytes);
  }
  for (u32 k = 0; k < granules; k++) {
    for (u32 l = 0; l < LANES; l++) {
      u32 g = (offset[l] >> shift) + k;
      if (!w->lane[l] || s->wrote[g] == GAP) continue;
      s->wrote[g] = me + l;
      s->wrote_pc[g] = i->pc;
    }
    for (u32 l = 0; l < LANES; l++) {
      u32 stamp = s->wrote[(offset[l] >> shift) + k];
      lost |= (u32)(w->lane[l] && stamp != GAP && stamp != me + l) << l;
    }
  }
  for (; lost; lost &= lost - 1) {
    u32 l = (u32)__builtin_ctz(lost), k = 0;
    while (s->wrote[(offset[l] >> shift) + k] == me + l) k++;
    same_instruction(w, i, l, offset[l], s->wrote[(offset[l] >> shift) + k]);
  }
}

/* At a barrier or the block's end: the reads that others' writes of this phase explain are taken
 * back. What the reader itself wrote afterwards explains nothing. */
void watch_phase_end(Cta *c) {
  for (u32 k = 0; k < c->npending; k += 3) {
    u32 stamp = c->shadow.wrote[c->pending[k]];
    if (stamp >= c->phase && stamp != c->pending[k + 1])
      take_back(c->warp[0].worker, UNINIT, c->pending[k + 2], SHARED);
  }
  c->npending = 0;
}
