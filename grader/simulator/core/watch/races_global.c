/* Data races and uninitialized reads in global memory, which several blocks access.
 *
 * A cell names the one block that wrote it and the one that read it, or MANY. Blocks that run
 * on several threads mark cells with sequentially consistent operations, each side marking
 * before it looks, so that of two conflicting blocks one always sees the other. The launch is then
 * repeated in the fixed order, one block after the other, and the findings are exact. */
#include "watch/races.h"

static void report_conflict(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, u32 flags, u32 block2,
                            u32 stamp, u32 pc) {
  Worker *k = w->worker;
  if (block2 != w->cta->number) {
    flags |= ACROSS_BLOCKS;
    if (!w->launch->ordered) {
      k->stop = true;
      return;
    }
  }
  u32 other = stamp_thread(stamp);
  if (!(flags & ACROSS_BLOCKS) && thread_of(w, lane) / LANES == other / LANES) flags |= WITHIN_WARP;
  u32 number = (u32)(b - w->launch->buffer);
  if (found_again(k, &(Spot){RACE, flags, i->pc, pc, GLOBAL, number, w->cta->number})) return;
  report(k, (Report){.kind = RACE, .flags = flags, .pc = i->pc, .pc2 = pc, .space = GLOBAL,
                     .buffer = number, .block = w->cta->number,
                     .block2 = block2, .thread = thread_of(w, lane), .thread2 = other,
                     .size = (u32)i->size * i->count, .address = offset, .count = 1});
}

static void report_uninit(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset) {
  report(w->worker, (Report){.kind = UNINIT, .pc = i->pc, .space = GLOBAL,
                             .buffer = (u32)(b - w->launch->buffer), .block = w->cta->number,
                             .thread = thread_of(w, lane), .size = (u32)i->size * i->count,
                             .address = offset, .count = 1});
}

static void mark_reader(Cell *c, u32 *hot, u32 mine, u32 cb, u32 me, u32 pc) {
  u32 none = 0;
  if (__atomic_compare_exchange_n(&c->reader, &none, mine, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    c->read1 = me;
    c->read1_pc = pc;
    c->read2 = 0;
  } else if (none == mine) {
    if (c->read1 < cb) {
      c->read1 = me;
      c->read1_pc = pc;
    } else if (c->read1 != me && c->read2 < cb) {
      c->read2 = me;
      c->read2_pc = pc;
    }
  } else {
    if (none != MANY) {
      c->read2 = none - 1; /* the first reader's block; read1 is its stamp */
      __atomic_store_n(&c->reader, MANY, __ATOMIC_SEQ_CST);
    }
    u32 untouched = HOT_INIT;
    __atomic_compare_exchange_n(hot, &untouched, HOT_SHARED_INPUT, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
  }
}

static void read_cell(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, u32 bytes) {
  u32 shift = w->launch->global_shift, cb = phase_of(w->cta), me = cb | thread_of(w, lane);
  u32 mine = w->cta->number + 1, reported = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    if (b->hot[g] == HOT_SHARED_INPUT) continue;
    Cell *c = &b->cell[g];
    if (b->hot[g] == HOT_UNINIT && !(reported & 1) && !is_followed(i)) {
      reported |= 1;
      if (!report_kept(w, i, lane, GLOBAL, b, g << shift)) report_uninit(w, i, lane, b, offset);
    }
    mark_reader(c, &b->hot[g], mine, cb, me, i->pc);
    u32 writer = __atomic_load_n(&c->writer, __ATOMIC_SEQ_CST);
    if (writer == 0 || reported & 2) continue;
    if (writer == mine && (c->wrote < cb || c->wrote == me)) continue;
    reported |= 2;
    report_conflict(w, i, lane, b, offset, OTHER_STORE, writer - 1, c->wrote, c->wrote_pc);
  }
}

/* Whether rows are words that many blocks have read and none has written: such reads need no check. */
static bool reads_shared_input(const Buffer *b, const Rows *r) {
  EightMask input = ASCENDING >= 0;
  for (u32 k = 0; k < r->n; k++) {
    const u32 *hot = b->hot + r->offset[k] / 4;
    Eight state = *hot + (Eight){0};
    for (u32 g = 0; g < r->lanes; g += GROUP) {
      if (r->step) eight(&state, hot + g);
      input &= state == HOT_SHARED_INPUT;
    }
  }
  return all_true(&input);
}

void check_global_read(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes) {
  u32 shift = w->launch->global_shift, slow = 0, granules = bytes >> shift;
  const u32 *hot = b->hot;
  for (u32 k = 0; k < (granules ? granules : 1); k++) {
    u32 mark[LANES];
    EACH_LANE { mark[l] = hot[(offset[l] >> shift) + k] == HOT_SHARED_INPUT ? 0 : 1u << l; }
    for (u32 l = 0; l < LANES; l++) slow |= mark[l];
  }
  for (slow &= w->mask; slow; slow &= slow - 1) {
    u32 l = (u32)__builtin_ctz(slow);
    read_cell(w, i, l, b, offset[l], bytes);
  }
}

void check_global_read_rows(Warp *w, const Insn *i, Buffer *b, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (w->launch->global_shift == WORD_SHIFT && reads_shared_input(b, r)) return;
  spread(r, offset);
  check_global_read(w, i, b, offset, 4);
}

static void against_readers(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, Cell *c,
                            u32 *reported) {
  u32 cb = phase_of(w->cta), me = cb | thread_of(w, lane), mine = w->cta->number + 1;
  u32 reader = __atomic_load_n(&c->reader, __ATOMIC_SEQ_CST);
  if (reader == 0 || *reported & 2) return;
  if (reader == mine) {
    bool first = c->read1 >= cb && c->read1 != me, second = c->read2 >= cb && c->read2 != me;
    if (!first && !second) return;
    report_conflict(w, i, lane, b, offset, STORE, mine - 1, first ? c->read1 : c->read2,
         first ? c->read1_pc : c->read2_pc);
  } else {
    report_conflict(w, i, lane, b, offset, STORE, reader == MANY ? c->read2 : reader - 1, c->read1, c->read1_pc);
  }
  *reported |= 2;
}

static void check_write(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, u32 bytes) {
  u32 shift = w->launch->global_shift, cb = phase_of(w->cta), me = cb | thread_of(w, lane);
  u32 mine = w->cta->number + 1, reported = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    Cell *c = &b->cell[g];
    u32 writer = 0;
    if (!__atomic_compare_exchange_n(&c->writer, &writer, mine, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
      bool ordered = writer == mine && (c->wrote < cb || c->wrote == me);
      if (!ordered && !(reported & 1)) {
        reported |= 1;
        u32 flags = STORE | OTHER_STORE;
        if (stores_same(w, i, lane, b->data + offset)) flags |= SAME_VALUE;
        report_conflict(w, i, lane, b, offset, flags, writer - 1, c->wrote, c->wrote_pc);
      }
      c->writer = mine;
    } else {
      c->wrote = 0;
    }
    against_readers(w, i, lane, b, offset, c, &reported);
  }
}

static void mark_written(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, u32 bytes) {
  u32 shift = w->launch->global_shift, me = phase_of(w->cta) | thread_of(w, lane);
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    b->cell[g].wrote = me;
    b->cell[g].wrote_pc = i->pc;
    b->hot[g] = HOT_TOUCHED;
  }
}

/* Lanes of one instruction that wrote one granule: the stamp of the last one remains. */
static void same_instruction(Warp *w, const Insn *i, u32 lane, Buffer *b, u32 offset, u32 bytes) {
  u32 shift = w->launch->global_shift, me = phase_of(w->cta) | thread_of(w, lane);
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    u32 stamp = b->cell[g].wrote;
    if (stamp == me) continue;
    u32 other = stamp_thread(stamp) - w->base;
    if (other >= LANES) continue; /* a block on another thread has written it since: AGAIN */
    u32 flags = STORE | OTHER_STORE | SAME_INSTRUCTION;
    if (lanes_store_same(w, i, lane, other)) flags |= SAME_VALUE;
    report_conflict(w, i, lane, b, offset, flags, w->cta->number, stamp, i->pc);
    return;
  }
}

void check_global_write(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes) {
  void (*const steps[3])(Warp *, const Insn *, u32, Buffer *, u32, u32) = {check_write, mark_written,
                                                                          same_instruction};
  if (write_voids(w->worker, b)) return;
  for (int step = 0; step < 3; step++)
    for (u32 left = w->mask; left; left &= left - 1) {
      u32 l = (u32)__builtin_ctz(left);
      steps[step](w, i, l, b, offset[l], bytes);
    }
}

void check_global_write_rows(Warp *w, const Insn *i, Buffer *b, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  spread(r, offset);
  check_global_write(w, i, b, offset, 4);
}
