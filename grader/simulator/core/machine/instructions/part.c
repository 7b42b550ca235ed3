/* Atomics of libcu++ on objects of 8 and 16 bits (cuda::atomic_ref), for which PTX has no instruction: code of
 * the library swaps the word around the object, or loads a half of it. What it means is the object alone: other
 * bytes of the word are another thread's, or outside the buffer. A swap that fails because these changed is
 * repeated and means nothing.
 *
 * The library computes the address of the word by an AND, which ptx/source_map.py finds (and.byte.b64 and
 * others). That marks the address with the place of the object in its word and with its kind. */
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"

enum { SCRATCH = 3, EXPECTED = 0 | SCRATCH, DESIRED = 4 * LANES | SCRATCH }; /* operands in Warp.part */

static inline u32 kind_of(u64 at) {
  return (at & (LOCAL_MARK | PART_MARK)) == PART_MARK ? (u32)(at >> PART_KIND) & 3 : NO_PART;
}
static inline u64 object_of(u64 at) {
  u64 word = at & ((1ull << PART_KIND) - 1);
  return kind_of(at) == NO_PART ? at : (word & ~3ull) | (at >> PART_AT & 3);
}

/* Lanes whose objects are alike and in one region. */
typedef struct {
  Region r;
  u32 kind, bytes;
  u32 offset[LANES], word[LANES]; /* of the object, and of the word or half around it */
} Group;

static bool is_store(const Insn *i, const Group *g) {
  return g->kind == STORED_PART || i->exec == ptx_ld_stored || i->exec == ptx_atom_stored;
}

static bool is_valid(const Warp *w, const Insn *i, u64 object, u32 bytes) {
  Region r = region_of(w, i->space, object);
  return r.space != GENERIC && r.size >= bytes && object - r.base <= r.size - bytes && !(object & (bytes - 1));
}

/* Takes the next group of *left, whose lanes become the warp's; 0 when the first one's address is invalid. */
static u32 next_parts(Warp *w, const Insn *i, const u64 *at, u32 *left, bool swaps, Group *g) {
  u64 object[LANES];
  u32 alike = 0, valid = 0;
  g->kind = kind_of(at[first_lane(*left)]);
  g->bytes = g->kind == NO_PART ? i->size : g->kind == HALF_PART ? 2 : 1;
  bool store = is_store(i, g), quiet = store && !swaps; /* the swap announces it */
  u32 flags = store && swaps ? STORE : swaps ? STORE | ATOMIC : 0;
  for (u32 l = 0; l < LANES; l++) {
    bool is_one = *left >> l & 1 && kind_of(at[l]) == g->kind;
    object[l] = is_one ? object_of(at[l]) : 0;
    alike |= (u32)is_one << l;
    valid |= (u32)(is_one && (!quiet || is_valid(w, i, object[l], g->bytes))) << l;
  }
  u32 others = *left & ~alike, mine = drop_misaligned(w, i, object, valid, g->bytes, flags);
  u32 group = mine ? next_group(w, i, object, &mine, g->bytes, flags, &g->r, g->offset) : 0;
  *left = others | mine;
  for (u32 l = 0; l < LANES; l++) g->word[l] = g->offset[l] & ~(i->size - 1u);
  return group;
}

/* Bytes outside the buffer are 0. */
static u64 get_word(const Region *r, const u8 *data, u32 offset, u32 bytes) {
  u64 x = 0;
  memcpy(&x, data + offset, r->size - offset < bytes ? r->size - offset : bytes);
  return x;
}
static void put_word(const Region *r, u8 *data, u32 offset, u64 x, u32 bytes) {
  memcpy(data + offset, &x, r->size - offset < bytes ? r->size - offset : bytes);
}

/* What the hardware does: a request of words, or of the objects where one reaches the end of the buffer. */
static void announce_words(Warp *w, const Insn *i, const Group *g, bool swaps) {
  bool inside = true;
  for (u32 m = w->mask; m; m &= m - 1) inside &= g->word[first_lane(m)] + (u64)i->size <= g->r.size;
  const u32 *offset = inside ? g->word : g->offset;
  u32 bytes = inside ? i->size : g->bytes;
  if (swaps) announce_atomic_request(w, i, &g->r, offset, bytes);
  else announce_request(w, i, &g->r, offset, bytes);
}

/* A store of the library begins with a load that is no part of its meaning. */
void load_parts(Warp *w, const Insn *i, u64 *at) {
  u32 whole = w->mask, left = whole;
  check_owners(w, i, at, i->size, 0);
  for (u32 l = 0; l < LANES; l++)
    if (w->lane[l]) set_register_lane(w, i->d, i->width, l, 0);
  while (left) {
    Group g;
    if (!next_parts(w, i, at, &left, false, &g)) continue;
    Insn object = *i;
    object.size = (u16)g.bytes;
    announce_words(w, i, &g, false);
    if (!is_store(i, &g)) announce_read_part(w, &object, &g.r, g.offset, g.bytes);
    for (u32 m = w->mask; m; m &= m - 1) {
      u32 l = first_lane(m);
      set_register_lane(w, i->d, i->width, l, get_word(&g.r, lane_data(w, &g.r, l), g.word[l], i->size));
    }
  }
  if (w->mask != whole) set_mask(w, whole);
}

/* The same instruction on a lane's object, whose operands are in Warp.part. */
static Insn on_object(Warp *w, const Insn *i, const Group *g, u32 l) {
  u32 shift = 8 * (g->offset[l] - g->word[l]), mask = FULL >> (32 - 8 * g->bytes);
  Insn object = *i;
  object.exec = is_store(i, g) ? ptx_st : ptx_atom;
  object.size = (u16)g->bytes;
  object.count = 1;
  object.b = EXPECTED;
  object.c = DESIRED;
  if (is_store(i, g)) {
    object.d = DESIRED;
    object.flag |= RELAXED;
  }
  w->part[0][l] = SRC(u32, i->b)[l] >> shift & mask;
  w->part[1][l] = SRC(u32, i->c)[l] >> shift & mask;
  return object;
}

static void swap_word(Warp *w, const Insn *i, const Group *g, u32 l) {
  u8 *data = lane_data(w, &g->r, l);
  u32 old = (u32)get_word(&g->r, data, g->word[l], 4), shift = 8 * (g->offset[l] - g->word[l]), offset[LANES];
  Insn object = on_object(w, i, g, l);
  u32 mask = FULL >> (32 - 8 * g->bytes), before = old >> shift & mask;
  bool swaps = old == SRC(u32, i->b)[l], store = is_store(i, g);
  bool means = store ? swaps : swaps || before != w->part[0][l];
  for (u32 k = 0; k < LANES; k++) offset[k] = g->offset[l];
  set_mask(w, 1u << l);
  if (means) announce_atomic_part(w, &object, &g->r, offset, g->bytes);
  if (swaps) put_word(&g->r, data, g->word[l], SRC(u32, i->c)[l], 4);
  if (swaps && old != SRC(u32, i->c)[l]) count_change(w, g->r.space);
  if (means && !store) announce_updated(w, &object, &g->r, l, offset[l], before, swaps ? w->part[1][l] : before);
  if (i->e >> 16) set_register_lane(w, i->d, i->width, l, old);
}

void swap_parts(Warp *w, const Insn *i, u64 *at) {
  u32 whole = w->mask, left = whole;
  check_owners(w, i, at, i->size, STORE | ATOMIC);
  while (left) {
    Group g;
    u32 group = next_parts(w, i, at, &left, true, &g);
    if (!group) continue;
    announce_words(w, i, &g, true);
    for (u32 m = group; m; m &= m - 1) swap_word(w, i, &g, first_lane(m));
  }
  if (w->mask != whole) set_mask(w, whole);
}
