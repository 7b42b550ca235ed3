/* Counters: what the load/store unit does with one warp's access.
 *
 * Global: one request for each instruction, and one sector for each distinct aligned 32-byte piece; a
 * byte that several lanes request is moved once.
 * Shared: 32 banks of 4 bytes; accesses of 8 and 16 bytes go by half and quarter warps; a wavefront
 * serves one word of each bank, to any number of lanes. */
#include <stdlib.h>
#include "machine/memory.h"
#include "machine/proof.h"
#include "machine/rows.h"
#include "watch/watchers.h"

/* Those of shared memory in a representative are apart, because they count for the blocks like it, too. */
typedef struct { Counter *own, *of[MOST_REPRESENTATIVES]; } Counters;

static Counters *counters_of(const Worker *k) { return k->state[counters_slot]; }
static Counter *counter_of(const Warp *w, const Insn *i) { return counters_of(w->worker)->own + i->pc; }
static Counter *shared_counter_of(const Warp *w, const Insn *i) {
  u32 r = w->cta->representative;
  Counter *of = r ? counters_of(w->worker)->of[r - 1] : NULL;
  return (of ? of : counters_of(w->worker)->own) + i->pc;
}

static u32 distinct(const u32 *key, u32 mask) {
  u32 distinct_keys[LANES];
  u32 n = 0;
  for (u32 left = mask; left; left &= left - 1) {
    u32 k = key[__builtin_ctz(left)];
    u32 j = n;
    while (j > 0 && distinct_keys[j - 1] > k) j--;
    if (j > 0 && distinct_keys[j - 1] == k) continue;
    for (u32 m = n; m > j; m--) distinct_keys[m] = distinct_keys[m - 1];
    distinct_keys[j] = k;
    n++;
  }
  return n;
}

/* The number of pieces of 1 << shift bytes. Lanes are mostly in the order of their addresses: then each
 * change from lane to lane is a new piece. */
static u32 pieces(const u32 *offset, u32 mask, u32 shift) {
  u32 piece[LANES + 1], changes = 0, falls = 0;
  piece[0] = 0;
  for (u32 l = 0; l < LANES; l++) piece[l + 1] = offset[l] >> shift;
  piece[0] = piece[1];
  for (u32 l = 0; l < LANES; l++) {
    changes += piece[l + 1] != piece[l];
    falls |= piece[l + 1] < piece[l];
  }
  return falls ? distinct(piece + 1, mask) : changes + 1;
}

/* Sectors beyond those that the bytes touch when they are in a row, which may begin within a sector. */
static u64 wasted(u64 sectors, u64 moved) {
  u64 row = (moved + 31) / 32 + 1;
  return sectors > row ? sectors - row : 0;
}

/* Buffers begin at a multiple of a sector, so offsets can stand for addresses. */
static void count_global(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Counter *c = counter_of(w, i);
  c->requests++;
  c->bytes += (u64)bytes * (u32)__builtin_popcount(w->mask);
  u32 sectors = pieces(offset, w->mask, 5);
  u64 moved = (u64)bytes * pieces(offset, w->mask, 0);
  c->sectors += sectors;
  c->moved += moved;
  c->wasted += wasted(sectors, moved);
}

/* The most words that one bank serves among the lanes of `mask`, which request a row of banks at most.
 * Elements that begin at multiples of their size are equal or apart in all their banks, so one of their
 * banks stands for the others. */
static u32 passes(const u32 *offset, u32 words, u32 mask) {
  u32 word[LANES], before[LANES], last[LANES] = {0}, served[LANES] = {0}, n = 0, most = 0, odd = words & (words - 1);
  EACH_LANE { odd |= offset[l] & (4 * words - 1) & -4u; }
  u32 each = odd ? 1 : words, shift = 2 + (u32)__builtin_ctz(each), banks = LANES / each;
  for (; mask; mask &= mask - 1)
    for (u32 k = 0; k < words; k += each) {
      u32 x = (offset[first_lane(mask)] >> shift) + k, bank = x & (banks - 1), j = last[bank];
      while (j && word[j - 1] != x) j = before[j - 1];
      if (j) continue;
      word[n] = x;
      before[n] = last[bank];
      last[bank] = ++n;
      if (++served[bank] > most) most = served[bank];
    }
  return most;
}

/* From the lowest to the highest word, in words. */
static u32 span(const u32 *offset) {
  u32 low = offset[0], high = offset[0];
  EACH_LANE {
    low = offset[l] < low ? offset[l] : low;
    high = offset[l] > high ? offset[l] : high;
  }
  return (high >> 2) - (low >> 2);
}

static void count_shared(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Counter *c = shared_counter_of(w, i);
  u32 words = bytes < 4 ? 1 : bytes / 4, group = LANES / words, first = offset[0] & ~3u, far = 0;
  EACH_LANE { far |= offset[l] - first; }
  c->requests++;
  c->bytes += (u64)bytes * (u32)__builtin_popcount(w->mask);
  if (words == 1 && (far < 4 * LANES || span(offset) < LANES)) { /* all in one row of banks */
    c->wavefronts++;
    c->ideal++;
    return;
  }
  for (u32 from = 0; from < LANES; from += group) {
    u32 part = w->mask & (group == LANES ? FULL : ((1u << group) - 1) << from);
    if (!part) continue;
    c->wavefronts += passes(offset, words, part);
    c->ideal++;
  }
}

OUTLINE void count_spread(Warp *w, const Insn *i, const Rows *r,
                          void (*count)(Warp *, const Insn *, const u32 *, u32)) {
  u32 offset[LANES];
  spread(r, offset);
  count(w, i, offset, 4);
}

/* Rows in the order of their addresses: pieces are counted from each row's ends. */
OUTLINE void count_global_rows(Warp *w, const Insn *i, const Rows *r) {
  u32 sectors = 0, words = 0, end = 0, last = 0;
  for (u32 k = 0; k < r->n; k++) {
    u32 from = r->offset[k], to = last_of(r, k);
    if (k && from < last) {
      count_spread(w, i, r, count_global);
      return;
    }
    sectors += (to >> 5) - (from >> 5) + !(k && from >> 5 == end);
    words += (to - from) / 4 + !(k && from == last);
    end = to >> 5;
    last = to;
  }
  Counter *c = counter_of(w, i);
  c->requests++;
  c->bytes += 4 * LANES;
  c->sectors += sectors;
  c->moved += 4 * words;
  c->wasted += wasted(sectors, 4 * (u64)words);
}

static void count_shared_rows(Warp *w, const Insn *i, const Rows *r) {
  u32 low = r->offset[0], high = last_of(r, 0);
  for (u32 k = 1; k < r->n; k++) {
    low = r->offset[k] < low ? r->offset[k] : low;
    high = last_of(r, k) > high ? last_of(r, k) : high;
  }
  if (high - low >= 4 * LANES) {
    count_spread(w, i, r, count_shared);
    return;
  }
  Counter *c = shared_counter_of(w, i);
  c->requests++;
  c->bytes += 4 * LANES;
  c->wavefronts++;
  c->ideal++;
}

static void count(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) count_shared(w, i, offset, bytes);
  else if (r->space == GLOBAL) count_global(w, i, offset, bytes);
}

static void count_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (g->space == SHARED) count_shared_rows(w, i, r);
  else count_global_rows(w, i, r);
}

static bool listens(const Launch *n) { return n->counter; }

static Counter *new_counters(Worker *k) {
  Counter *all = calloc(k->launch->insns + 1, sizeof *all);
  if (!all) out_of_memory(k);
  return all;
}

static void make(Worker *k) {
  Counters *c = k->state[counters_slot] = calloc(1, sizeof *c);
  if (c) c->own = new_counters(k);
  else out_of_memory(k);
}

static void start_block(Cta *c) {
  if (c->representative) counters_of(c->worker)->of[c->representative - 1] = new_counters(c->worker);
}

static void add_times(Launch *n, const Counter *counted, u64 times) {
  for (u32 j = 0; counted && j < n->insns; j++) {
    u64 *to = (u64 *)&n->counter[j], *from = (u64 *)&counted[j];
    for (u32 f = 0; f < sizeof(Counter) / sizeof(u64); f++) to[f] += times * from[f];
  }
}

static void add_up(Launch *n, Worker *all, u32 workers) {
  for (u32 x = 0; x < workers; x++) {
    const Counters *c = counters_of(&all[x]);
    add_times(n, c->own, 1);
    for (u32 j = 0; j < n->insns; j++) n->counter[j].lanes += all[x].guarded[j];
    for (u32 r = 0; r < MOST_REPRESENTATIVES; r++)
      if (c->of[r]) add_times(n, c->of[r], blocks_like(all[x].team, r));
  }
}

static void discard(Worker *k) {
  Counters *c = counters_of(k);
  for (u32 r = 0; c && r < MOST_REPRESENTATIVES; r++) free(c->of[r]);
  if (c) free(c->own);
  free(c);
}

const Watcher counters_watcher = {
    .listens = listens, .worker_started = make, .block_started = start_block, .launch_ended = add_up,
    .worker_ended = discard, .read = count, .request = count, .write = count, .atomic = count, .atomic_request = count, .copy_read = count,
    .read_rows = count_rows, .write_rows = count_rows};
