/* The counters' watcher: what the load/store unit would do with one warp's access.
 *
 * Global: one request an instruction, and as many sectors as distinct aligned 32-byte pieces; a
 * byte that several lanes ask for is moved once.
 * Shared: 32 banks of 4 bytes; accesses of 8 and 16 bytes go by half and quarter warps; a pass
 * (wavefront) serves one word of each bank, to any number of lanes. */
#include "row.h"

static u32 distinct(const u32 *key, u32 mask) {
  u32 seen[LANES];
  u32 n = 0;
  for (u32 left = mask; left; left &= left - 1) {
    u32 k = key[__builtin_ctz(left)];
    u32 j = n;
    while (j > 0 && seen[j - 1] > k) j--;
    if (j > 0 && seen[j - 1] == k) continue;
    for (u32 m = n; m > j; m--) seen[m] = seen[m - 1];
    seen[j] = k;
    n++;
  }
  return n;
}

/* Lanes mostly come in the order of their addresses: then a change of piece is a new one. */
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

/* Buffers begin at a multiple of a sector, so offsets will do for addresses. */
void count_global(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Counter *c = &w->worker->counter[i->pc];
  c->requests++;
  c->bytes += (u64)bytes * (u32)__builtin_popcount(w->mask);
  c->sectors += pieces(offset, w->mask, 5);
  c->moved += (u64)bytes * pieces(offset, w->mask, 0);
}

/* The most words that one bank must serve among the lanes of `mask`. */
static u32 passes(const u32 *offset, u32 words, u32 mask) {
  u32 word[4 * LANES], bank_words[LANES] = {0}, n = 0, most = 0;
  for (u32 left = mask; left; left &= left - 1)
    for (u32 k = 0; k < words; k++) {
      u32 x = (offset[__builtin_ctz(left)] >> 2) + k, j = 0;
      while (j < n && word[j] != x) j++;
      if (j < n) continue;
      word[n++] = x;
      u32 b = ++bank_words[x & 31];
      if (b > most) most = b;
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

void count_shared(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Counter *c = &w->worker->counter[i->pc];
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

/* Rows in the order of their addresses: pieces are counted from each row's ends. */
void count_global_rows(Warp *w, const Insn *i, const Rows *r) {
  u32 sectors = 0, words = 0, end = 0, last = 0;
  for (u32 k = 0; k < r->n; k++) {
    u32 from = r->offset[k], to = last_of(r, k);
    if (k && from < last) {
      u32 offset[LANES];
      spread(r, offset);
      count_global(w, i, offset, 4);
      return;
    }
    sectors += (to >> 5) - (from >> 5) + !(k && from >> 5 == end);
    words += (to - from) / 4 + !(k && from == last);
    end = to >> 5;
    last = to;
  }
  Counter *c = &w->worker->counter[i->pc];
  c->requests++;
  c->bytes += 4 * LANES;
  c->sectors += sectors;
  c->moved += 4 * words;
}

void count_shared_rows(Warp *w, const Insn *i, const Rows *r) {
  u32 low = r->offset[0], high = last_of(r, 0);
  for (u32 k = 1; k < r->n; k++) {
    low = r->offset[k] < low ? r->offset[k] : low;
    high = last_of(r, k) > high ? last_of(r, k) : high;
  }
  if (high - low >= 4 * LANES) {
    u32 offset[LANES];
    spread(r, offset);
    count_shared(w, i, offset, 4);
    return;
  }
  Counter *c = &w->worker->counter[i->pc];
  c->requests++;
  c->bytes += 4 * LANES;
  c->wavefronts++;
  c->ideal++;
}
