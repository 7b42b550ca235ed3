/* Data races and uninitialized reads in shared memory.
 *
 * Two accesses to one granule by different threads, one of them a write, are ordered if and only if
 * a full barrier is between them. A granule keeps its last writer and two different readers
 * of the phase, which is enough to detect that a conflict exists: any writer differs from one of them. */
#include "watch/races.h"

static Report race_at(const Warp *w, const Insn *i, u32 lane, u32 flags, u32 space) {
  return (Report){.kind = RACE, .flags = flags, .pc = i->pc, .space = space, .count = 1,
                  .block = w->cta->number, .block2 = w->cta->number,
                  .thread = thread_of(w, lane), .size = (u32)i->size * i->count};
}

static u32 warp_flag(const Warp *w, u32 lane, u32 other) {
  return thread_of(w, lane) / LANES == other / LANES ? WITHIN_WARP : 0;
}

static void report_shared(Warp *w, const Insn *i, u32 lane, u32 flags, u32 offset, u32 stamp, u32 pc) {
  u32 other = stamp_thread(stamp);
  flags |= warp_flag(w, lane, other);
  if (found_again(w->worker, &(Spot){RACE, flags, i->pc, pc, SHARED, 0, w->cta->number})) return;
  Report r = race_at(w, i, lane, flags, SHARED);
  r.pc2 = pc;
  r.thread2 = other;
  r.address = offset;
  report(w->worker, r);
}

static void report_uninit(Warp *w, const Insn *i, u32 lane, u64 offset) {
  if (found_again(w->worker, &(Spot){UNINIT, 0, i->pc, 0, SHARED, 0, w->cta->number})) return;
  Report r = race_at(w, i, lane, 0, SHARED);
  r.kind = UNINIT;
  r.address = offset;
  report(w->worker, r);
}

static void report_gap(Warp *w, const Insn *i, u32 lane, u32 offset, u32 flags) {
  report_invalid(w, i, lane, offset + (i->space == SHARED ? 0 : SHARED_BASE),
                (u32)i->size * i->count, flags);
}

static void read_lane(Warp *w, const Insn *i, u32 lane, u32 offset, u32 bytes) {
  Cta *c = w->cta;
  Shadow *s = shadow_of(c);
  u32 shift = w->launch->shared_shift, cb = s->phase, me = cb | thread_of(w, lane), reported = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    u32 stamp = s->wrote[g];
    if (stamp == GAP && !(reported & 1)) {
      report_gap(w, i, lane, offset, 0);
      return;
    }
    if (stamp == 0 && !(reported & 2) && !is_followed(i)) {
      reported |= 2;
      if (!report_kept(w, i, lane, SHARED, NULL, g << shift)) {
        log_uninit(c, g, thread_of(w, lane), i->pc);
        report_uninit(w, i, lane, offset);
      }
    }
    if (stamp >= cb && stamp != me && !(reported & 4)) {
      reported |= 4;
      report_shared(w, i, lane, OTHER_STORE, offset, stamp, s->wrote_pc[g]);
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

/* A word that a whole row reads: two of its lanes are kept as readers, unless two others are. */
INLINE void keep_two(Shadow *s, u32 g, u32 cb, u32 me, u32 pc) {
  if (s->read2[g] >= cb) return;
  u32 second = s->read1[g] == me || s->read1[g] < cb ? me + 1 : me;
  if (s->read1[g] < cb) {
    s->read1[g] = me;
    s->read1_pc[g] = pc;
  }
  s->read2[g] = second;
  s->read2_pc[g] = pc;
}

/* False: check each lane. */
INLINE bool read_one(Shadow *s, u32 g, u32 cb, u32 me, u32 pc) {
  if (s->wrote[g] - FIRST_PHASE >= cb - FIRST_PHASE) return false;
  keep_two(s, g, cb, me, pc);
  return true;
}

/* Consecutive words, one for each lane of a group. False: check each lane. */
static bool read_row(Shadow *s, u32 g, u32 cb, u32 me, u32 pc) {
  Eight wrote, first, second, mine = me + ASCENDING;
  eight(&wrote, s->wrote + g);
  eight(&second, s->read2 + g);
  EightMask fine = (wrote - FIRST_PHASE < cb - FIRST_PHASE) | (wrote == mine), known = second >= cb;
  if (!all_true(&fine)) return false;
  if (all_true(&known)) return true;
  eight(&first, s->read1 + g);
  EightMask take1 = first < cb, take2 = ~take1 & ~known & (first != mine);
  Eight one = (Eight)take1, two = (Eight)take2, pc1, pc2;
  eight(&pc1, s->read1_pc + g);
  eight(&pc2, s->read2_pc + g);
  first = (mine & one) | (first & ~one);
  second = (mine & two) | (second & ~two);
  pc1 = (pc & one) | (pc1 & ~one);
  pc2 = (pc & two) | (pc2 & ~two);
  put_eight(s->read1 + g, &first);
  put_eight(s->read2 + g, &second);
  put_eight(s->read1_pc + g, &pc1);
  put_eight(s->read2_pc + g, &pc2);
  return true;
}

/* Without the lanes whose read changes nothing: two readers of this phase are known, no writer. */
static u32 drop_known(Warp *w, const u32 *offset, u32 granules, u32 lanes) {
  const Shadow *s = shadow_of(w->cta);
  const u32 *wrote = s->wrote, *read2 = s->read2;
  u32 shift = w->launch->shared_shift, cb = s->phase, me = cb | w->base, left = 0;
  for (u32 k = 0; k < granules; k++) {
    u32 mark[LANES], any = 0;
    EACH_LANE {
      u32 g = (offset[l] >> shift) + k, stamp = wrote[g];
      u32 fine = (stamp - FIRST_PHASE < cb - FIRST_PHASE) | (stamp == me + (u32)l);
      mark[l] = fine & (read2[g] >= cb) ? 0 : 1u << l;
    }
    EACH_LANE { any |= mark[l]; }
    left |= any;
  }
  return left & lanes;
}

void check_shared_read(Warp *w, const Insn *i, const u32 *offset, u32 bytes, u32 lanes) {
  u32 shift = w->launch->shared_shift, granules = bytes >> shift ? bytes >> shift : 1;
  for (lanes = drop_known(w, offset, granules, lanes); lanes; lanes &= lanes - 1) {
    u32 l = (u32)__builtin_ctz(lanes);
    read_lane(w, i, l, offset[l], bytes);
  }
}

OUTLINE void read_lanes_of_rows(Warp *w, const Insn *i, const Rows *r, u32 lanes) {
  u32 offset[LANES] __attribute__((aligned(32)));
  spread(r, offset);
  check_shared_read(w, i, offset, 4, lanes);
}

/* The frequent case: two readers of this phase are known of each word, and it has no writer. */
INLINE bool known_rows(const Shadow *s, u32 lanes, const Rows *r) {
  u32 cb = s->phase, before = cb - FIRST_PHASE;
  EightMask known = ASCENDING >= 0;
  if (!r->step) {
    u32 unknown = 0;
    for (u32 k = 0; k < LANES / lanes; k++) {
      u32 at = r->offset[k] >> 2;
      unknown |= (s->wrote[at] - FIRST_PHASE >= before) | (s->read2[at] < cb);
    }
    return !unknown;
  }
  for (u32 k = 0; k < LANES / lanes; k++) {
    u32 at = r->offset[k] >> 2;
    for (u32 g = 0; g < lanes; g += GROUP) {
      Eight wrote, second;
      eight(&wrote, s->wrote + at + g);
      eight(&second, s->read2 + at + g);
      known &= (wrote - FIRST_PHASE < before) & (second >= cb);
    }
  }
  return all_true(&known);
}

OUTLINE void read_new_rows(Warp *w, const Insn *i, const Rows *r) {
  Shadow *s = shadow_of(w->cta);
  u32 cb = s->phase, me = cb | w->base, slow = 0;
  for (u32 k = 0; k < r->n; k++, me += r->lanes) {
    u32 at = r->offset[k] >> 2;
    bool done = true;
    if (!r->step) done = read_one(s, at, cb, me, i->pc);
    else for (u32 g = 0; g < r->lanes; g += GROUP) done &= read_row(s, at + g, cb, me + g, i->pc);
    if (!done) slow |= ((1u << r->lanes) - 1) << k * r->lanes;
  }
  if (slow) read_lanes_of_rows(w, i, r, slow);
}

/* Two words, each read by half of the warp: a row of a tile, one element a thread. */
INLINE bool read_two(Warp *w, const Insn *i, const Rows *r) {
  Shadow *s = shadow_of(w->cta);
  u32 me = s->phase | w->base, one = r->offset[0] >> 2, two = r->offset[1] >> 2, before = s->phase - FIRST_PHASE;
  if (r->n != 2 || r->step) return false;
  if ((s->wrote[one] - FIRST_PHASE >= before) | (s->wrote[two] - FIRST_PHASE >= before)) return false;
  keep_two(s, one, s->phase, me, i->pc);
  keep_two(s, two, s->phase, me + LANES / 2, i->pc);
  return true;
}

void check_shared_read_rows(Warp *w, const Insn *i, const Rows *r) {
  if (w->launch->shared_shift != WORD_SHIFT) read_lanes_of_rows(w, i, r, FULL);
  else if (read_two(w, i, r)) return;
  else if (!(r->lanes == 16 ? known_rows(shadow_of(w->cta), 16, r) : known_rows(shadow_of(w->cta), 8, r)))
    read_new_rows(w, i, r);
}

static void write_conflicts(Warp *w, const Insn *i, u32 lane, u32 offset, u32 bytes) {
  Cta *c = w->cta;
  Shadow *s = shadow_of(c);
  u32 shift = w->launch->shared_shift, cb = s->phase, me = cb | thread_of(w, lane), reported = 0;
  for (u32 g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
    u32 stamp = s->wrote[g], flags = STORE;
    if (stamp == GAP) {
      report_gap(w, i, lane, offset, STORE);
      return;
    }
    if (stamp >= cb && stamp != me && !(reported & 1)) {
      reported |= 1;
      if (stores_same(w, i, lane, c->shared + offset)) flags |= SAME_VALUE;
      report_shared(w, i, lane, flags | OTHER_STORE, offset, stamp, s->wrote_pc[g]);
    }
    if (reported & 2) continue;
    if (s->read1[g] >= cb && s->read1[g] != me) {
      reported |= 2;
      report_shared(w, i, lane, STORE, offset, s->read1[g], s->read1_pc[g]);
    } else if (s->read2[g] >= cb && s->read2[g] != me) {
      reported |= 2;
      report_shared(w, i, lane, STORE, offset, s->read2[g], s->read2_pc[g]);
    }
  }
}

/* Lanes of one instruction that wrote one granule: the stamp of the last one remains. */
static void same_instruction(Warp *w, const Insn *i, u32 lane, u32 offset, u32 winner) {
  u32 flags = STORE | OTHER_STORE | SAME_INSTRUCTION;
  u32 other = stamp_thread(winner) - w->base;
  if (lanes_store_same(w, i, lane, other)) flags |= SAME_VALUE;
  report_shared(w, i, lane, flags, offset, winner, i->pc);
}

static inline u32 word_of(const Rows *r, u32 lane) {
  return (r->offset[lane / r->lanes] + r->step * (lane % r->lanes)) >> 2;
}

void check_shared_write(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Shadow *s = shadow_of(w->cta);
  u32 shift = w->launch->shared_shift, cb = s->phase, me = cb | w->base, slow = 0, lost = 0;
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

/* The frequent case: rows of words that no other thread has accessed in this phase. */
INLINE bool write_unshared_rows(Warp *w, const Insn *i, const Rows *r) {
  Shadow *s = shadow_of(w->cta);
  u32 cb = s->phase;
  EightMask fine = ASCENDING >= 0;
  for (u32 g = 0; g < LANES; g += GROUP) {
    Eight wrote, first, second, mine = (cb | w->base) + g + ASCENDING;
    u32 at = word_of(r, g);
    eight(&wrote, s->wrote + at);
    eight(&first, s->read1 + at);
    eight(&second, s->read2 + at);
    fine &= ((wrote < cb) | (wrote == mine)) & (wrote != GAP) & ((first < cb) | (first == mine)) &
            ((second < cb) | (second == mine));
  }
  if (!all_true(&fine)) return false;
  for (u32 g = 0; g < LANES; g += GROUP) {
    Eight mine = (cb | w->base) + g + ASCENDING, pc = i->pc + (Eight){0};
    put_eight(s->wrote + word_of(r, g), &mine);
    put_eight(s->wrote_pc + word_of(r, g), &pc);
  }
  return true;
}

OUTLINE void write_lanes_of_rows(Warp *w, const Insn *i, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  spread(r, offset);
  check_shared_write(w, i, offset, 4);
}

void check_shared_write_rows(Warp *w, const Insn *i, const Rows *r) {
  if (w->launch->shared_shift != WORD_SHIFT || !write_unshared_rows(w, i, r)) write_lanes_of_rows(w, i, r);
}
