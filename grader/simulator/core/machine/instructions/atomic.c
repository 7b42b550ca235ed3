/* PTX ISA, "Parallel Synchronization": atom, red, membar and fence. Lanes are served in the order of
 * their numbers, blocks in the order of theirs, so that results are deterministic. */
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/float.h"
#include "machine/memory.h"

enum Op { ADD, MIN, MAX, INC, DEC, EXCH, CAS, AND, OR, XOR };
enum { FOLLOWS_OLD = 2 }; /* see ptx_atom */
enum Type { UNSIGNED, SIGNED, FLOAT, BRAIN, PAIR, BRAIN_PAIR };

static u64 extend(u64 x, u32 bytes) {
  return bytes == 8 ? x : (u64)((s64)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

static u64 add_float(u64 a, u64 b, u32 bytes, u32 type) {
  if (bytes == 8) return bits64(f64_of(a) + f64_of(b));
  if (type == PAIR || type == BRAIN_PAIR) {
    int brain = type == BRAIN_PAIR;
    u64 r = 0;
    for (int k = 0; k < 32; k += 16)
      r |= (u64)f64_to_half(half_to_f64((u16)(a >> k), brain) + half_to_f64((u16)(b >> k), brain), brain,
                            FE_TONEAREST) << k;
    return r;
  }
  if (bytes == 4) return bits32(one_nan(f32_of((u32)a) + f32_of((u32)b)));
  return f64_to_half(half_to_f64((u16)a, type == BRAIN) + half_to_f64((u16)b, type == BRAIN), type == BRAIN,
                     FE_TONEAREST);
}

static u64 updated(u32 op, u32 type, u32 bytes, u64 old, u64 b, u64 c) {
  bool less = type == SIGNED ? (s64)extend(old, bytes) < (s64)extend(b, bytes) : old < b;
  switch (op) {
    case ADD: return type >= FLOAT ? add_float(old, b, bytes, type) : old + b;
    case MIN: return less ? old : b;
    case MAX: return less ? b : old;
    case INC: return old >= b ? 0 : old + 1;
    case DEC: return old == 0 || old > b ? b : old - 1;
    case EXCH: return b;
    case CAS: return old == b ? c : old;
    case AND: return old & b;
    case OR: return old | b;
    default: return old ^ b;
  }
}

/* mode holds the address width; imm the displacement; `e` is op | type << 8 | elements << 12 | returns << 16, where
 * 2 is set where the old value is followed to its use.
 * The first atomic of a vector has the number of its elements, by which the address is aligned. */
void ptx_atom(Warp *w, const Insn *i) {
  u32 whole = w->mask, offset[LANES], op = i->e & 255, type = i->e >> 8 & 15, bytes = i->size;
  u32 elements = i->e >> 12 & 15;
  u64 at[LANES];
  for (u32 l = 0; l < LANES; l++)
    at[l] = lane_address(w, i, l);
  if (op == CAS && bytes == 4 && has_parts(at)) {
    swap_parts(w, i, at);
    look(w, i, at, whole);
    return;
  }
  note_strong(w, i, at[first_lane(whole)]);
  check_owners(w, i, at, bytes, STORE | ATOMIC);
  u32 left = drop_misaligned(w, i, at, whole, elements ? bytes * elements : bytes, STORE | ATOMIC);
  while (left) {
    Region r;
    u32 group = next_group(w, i, at, &left, bytes, STORE | ATOMIC, &r, offset);
    if (!group) continue;
    if (r.space == LOCAL && !(i->flag & (ACQUIRE | RELEASE | RELAXED))) { /* libcu++, which states an order, asks first */
      for (u32 m = group; m; m &= m - 1) announce_invalid(w, i, first_lane(m), at[first_lane(m)], bytes, STORE | ATOMIC | NOT_GLOBAL);
      continue;
    }
    announce_atomic(w, i, &r, offset, bytes);
    for (u32 m = group; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      u8 *p = lane_data(w, &r, l) + offset[l];
      u64 old = 0, b = register_lane(w, i->b, i->width, l), c = op == CAS ? register_lane(w, i->c, i->width, l) : 0;
      memcpy(&old, p, bytes);
      u64 now = updated(op, type, bytes, old, b, c);
      if (memcmp(p, &now, bytes)) count_change(w, r.space);
      memcpy(p, &now, bytes);
      announce_updated(w, i, &r, l, offset[l], old, now);
      if (bytes == 8) {
        old = load_pointer(w, p, old);
        store_pointer(w, i, &r, p, now);
      }
      if (!(i->e >> 16)) continue;
      set_register_lane(w, i->d, i->width, l, old);
    }
  }
  if (w->mask != whole) set_mask(w, whole);
  if (i->e >> 16) look(w, i, at, whole);
}

void ptx_atom_stored(Warp *w, const Insn *i) { ptx_atom(w, i); }

bool swap_fails(const Warp *w, const Insn *i, u32 lane, u64 old) {
  u64 mask = ~0ull >> (64 - 8 * i->size);
  return (i->e & 255) == CAS && (register_lane(w, i->b, i->width, lane) ^ old) & mask;
}

/* The lanes whose compare-and-swap finds another value and writes nothing; lanes go one after the other. */
u32 failing_lanes(const Warp *w, const Insn *i, const Region *r, const u32 *offset) {
  u32 failing = 0;
  if (i->exec != ptx_atom || (i->e & 255) != CAS) return 0;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 old = 0;
    memcpy(&old, r->data + offset[l], i->size);
    for (u32 e = w->mask & ~failing & ((1u << l) - 1); e; e &= e - 1)
      if (offset[first_lane(e)] == offset[l]) old = register_lane(w, i->c, i->width, first_lane(e));
    if (memcmp(&old, &(u64){register_lane(w, i->b, i->width, l)}, i->size)) failing |= 1u << l;
  }
  return failing;
}

/* Its old value tells the thread how many came before; a loop that repeats it waits instead, and one that adds 0
 * reads: -G code has the atomic in a function, not in the loop. Code that states an order is not written as CUDA's
 * example is: there the order counts. */
bool draws_ticket(const Warp *w, const Insn *i, u32 lane) {
  u32 op = i->e & 255;
  if (!(i->e >> 16) || i->flag & (WAITING | ACQUIRE | RELEASE)) return false;
  return op == INC || op == DEC || (op == ADD && register_lane(w, i->b, i->width, lane));
}

/* Whether an atomic uses no bits of the old value but to keep them, and which bits it sets or clears: an exchange,
 * AND, OR. */
bool sets_bits(const Warp *w, const Insn *i, u32 lane, u64 *bits) {
  u32 op = i->e & 255;
  u64 b = op == AND || op == OR ? register_lane(w, i->b, i->width, lane) : 0;
  *bits = op == AND ? ~b : op == OR ? b : ~0ull;
  return op == AND || op == OR || op == EXCH;
}

/* Whether what an atomic writes is the same for any old value: an exchange, AND with 0, and OR with ones. */
bool replaces_value(const Warp *w, const Insn *i, u32 lane) {
  u64 bits;
  return sets_bits(w, i, lane, &bits) && !(~bits & ~0ull >> (64 - 8 * i->size));
}

/* Whether an atomic uses the old value: to write another one, or as its result, unless that is followed to its use. */
bool needs_old_value(const Warp *w, const Insn *i, u32 lane) {
  u32 result = i->e >> 16;
  return !replaces_value(w, i, lane) || (result && !(result & FOLLOWS_OLD));
}

/* flag: SCOPE_CTA, FENCE_SC. */
void ptx_fence(Warp *w, const Insn *i) { announce_fence(w, i->flag); }
