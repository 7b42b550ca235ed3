/* Which memory an address refers to, for every instruction that reads or writes memory. */
#ifndef MACHINE_MEMORY_H
#define MACHINE_MEMORY_H
#include "machine/warp.h"

/* One lane of a register of `width` bytes. */
static inline u64 register_lane(const Warp *w, u32 ref, u32 width, u32 l) {
  return width == 2 ? SRC(u16, ref)[l] : width == 4 ? SRC(u32, ref)[l] : SRC(u64, ref)[l];
}
static inline void set_register_lane(Warp *w, u32 ref, u32 width, u32 l, u64 x) {
  if (width == 2) DST(u16, ref)[l] = (u16)x;
  else if (width == 4) DST(u32, ref)[l] = (u32)x;
  else DST(u64, ref)[l] = x;
}

/* In a run that gives undefined bits a value: the one at a place, a word twice. They differ, so that two of them are seldom
 * equal, but for 0; not by the distance of the places, such as a row's. */
static inline u64 given_value(const Launch *n, u32 place) {
  u32 x = (u32)n->unset;
  x += x ? (place ^ x) * 2654435769u >> 26 : 0;
  return (u64)x << 32 | x;
}

/* pointers.c: of values of 8 bytes in global memory. */
void note_pointer(Warp *w, const u8 *place, u64 value);
u64 pointer_here(const Warp *w, const u8 *place, u64 value);
static inline bool points_to_shared(u64 value) { return value - SHARED_BASE < WINDOW; }

/* The register operand of element k of a vector access. */
static inline u32 result_operand(const Insn *i, u32 k) {
  return k == 0 ? i->d : k == 1 ? i->b : k == 2 ? i->c : i->e;
}

static inline bool is_followed(const Insn *i) {
  return (i->flag & (FOLLOWED | VOLATILE | ACQUIRE | RELAXED)) == FOLLOWED;
}

static inline void store_pointer(Warp *w, const Insn *i, const Region *r, const u8 *place, u64 value) {
  if (i->used & SHARED_POINTER && points_to_shared(value) && r->space == GLOBAL) note_pointer(w, place, value);
}
static inline u64 load_pointer(const Warp *w, const u8 *place, u64 value) {
  return w->worker->pointers.room && points_to_shared(value) ? pointer_here(w, place, value) : value;
}

static inline Region region_of(const Warp *w, u32 space, u64 at) {
  const Launch *n = w->launch;
  Region none = {.space = GENERIC};
  if (space == SHARED || (at - SHARED_BASE < WINDOW && space != GLOBAL))
    return (Region){SHARED, space == SHARED ? 0 : SHARED_BASE, n->shared_bytes, w->cta->shared, NULL};
  if (space == LOCAL || (is_local(at) && space != GLOBAL)) {
    const Frame *f = &w->frame[w->top];
    u32 stack = f->local + n->function[f->function].local;
    return (Region){LOCAL, (space == LOCAL ? 0 : LOCAL_BASE) + LOCAL_START, stack, w->local, NULL};
  }
  if (space == PARAM || at - PARAM_BASE < WINDOW)
    return (Region){PARAM, space == PARAM ? 0 : PARAM_BASE, n->param_bytes, (u8 *)n->params, NULL};
  u64 slot = (at - GLOBAL_BASE) >> SLOT_BITS;
  if (at < GLOBAL_BASE || slot >= n->buffers) return none;
  Buffer *b = &n->buffer[slot];
  if (b->dead) return none;
  return (Region){b->readonly ? CONST : GLOBAL, b->base, b->size, b->data, b};
}

/* The address of a lane's access. */
static inline u64 lane_address(const Warp *w, const Insn *i, u32 l) {
  return (i->mode == 4 ? (u64)SRC(u32, i->a)[l] : SRC(u64, i->a)[l]) + (u64)i->imm;
}

/* The bytes of a region for a lane: local memory is each lane's own. */
static inline u8 *lane_data(const Warp *w, const Region *r, u32 l) {
  return r->space == LOCAL ? r->data + (size_t)l * w->local_room : r->data;
}

/* Whether lanes' addresses are of words around objects of 8 or 16 bits: instructions/part.c. */
static inline bool has_parts(const u64 *at) {
  u64 any = 0;
  EACH_LANE { any |= at[l] & LOCAL_MARK ? 0 : at[l]; }
  return any & PART_MARK;
}
void load_parts(Warp *w, const Insn *i, u64 *at);
void swap_parts(Warp *w, const Insn *i, u64 *at);

void take_owners(Warp *w, const Insn *i, u64 *at, u32 bytes, u32 flags);
/* Before lanes' addresses are used: those of local variables become plain, those of others are announced. */
static inline void check_owners(Warp *w, const Insn *i, u64 *at, u32 bytes, u32 flags) {
  u64 any = 0;
  EACH_LANE { any |= at[l]; }
  if (any & LOCAL_MARK) take_owners(w, i, at, bytes, flags);
}
u32 drop_misaligned(Warp *w, const Insn *i, const u64 *at, u32 mask, u32 bytes, u32 flags);
u32 next_group(Warp *w, const Insn *i, const u64 *at, u32 *left, u32 bytes, u32 flags, Region *r,
               u32 *offset);
bool stores_same(const Warp *w, const Insn *i, u32 lane, const u8 *memory);
u32 failing_lanes(const Warp *w, const Insn *i, const Region *r, const u32 *offset); /* instructions/atomic.c */
bool swap_fails(const Warp *w, const Insn *i, u32 lane, u64 old);
bool draws_ticket(const Warp *w, const Insn *i, u32 lane);
bool sets_bits(const Warp *w, const Insn *i, u32 lane, u64 *bits);
bool replaces_value(const Warp *w, const Insn *i, u32 lane);
bool needs_old_value(const Warp *w, const Insn *i, u32 lane);
bool lanes_store_same(const Warp *w, const Insn *i, u32 a, u32 b);

#endif
