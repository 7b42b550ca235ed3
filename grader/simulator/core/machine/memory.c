/* How memory is reached: addresses are checked lane by lane against the region that holds them, and
 * lanes that share a region go on together. An access out of bounds or misaligned is announced and
 * dropped, but for a misaligned one to a local variable. There is no unchecked way to memory. */
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/memory.h"

static u32 lanes_inside(const Region *r, const u64 *at, u32 mask, u32 bytes) {
  if (r->space == GENERIC || r->size < bytes) return 0;
  u64 most = r->size - bytes;
  u32 in = 0;
  for (int l = 0; l < LANES; l++) in |= (u32)(at[l] - r->base <= most) << l;
  return in & mask;
}

void take_owners(Warp *w, const Insn *i, u64 *at, u32 bytes, u32 flags) {
  for (u32 l = 0; l < LANES; l++) {
    u64 plain = without_owner(at[l]);
    if (plain == at[l]) continue;
    if (w->lane[l] && ((at[l] - plain) & ~VARIABLE_BITS) != owner_of(w, l)) announce_invalid(w, i, l, at[l], bytes, flags | FOREIGN_LOCAL);
    at[l] = plain;
  }
}

/* Returns the lanes of `mask` that are aligned; the others are announced. Local variables are accessed all the same:
 * where the code of another build has them in registers, what follows is no mistake. */
u32 drop_misaligned(Warp *w, const Insn *i, const u64 *at, u32 mask, u32 bytes, u32 flags) {
  u64 low = 0;
  EACH_LANE { low |= at[l]; }
  if (!(low & (bytes - 1))) return mask;
  for (u32 left = mask; left; left &= left - 1) {
    u32 l = (u32)__builtin_ctz(left);
    if (!(at[l] & (bytes - 1))) continue;
    announce_invalid(w, i, l, at[l], bytes, flags | MISALIGNED);
    bool local = i->space == LOCAL || (i->space == GENERIC && is_local(at[l]));
    if (flags & ATOMIC || !local) mask &= ~(1u << l);
  }
  return mask;
}

/* Takes the next group of lanes in one region from *left. Returns its mask, which becomes the warp's, or
 * 0 when the first lane's address is invalid, which is announced. */
u32 next_group(Warp *w, const Insn *i, const u64 *at, u32 *left, u32 bytes, u32 flags, Region *r,
               u32 *offset) {
  u32 first = (u32)__builtin_ctz(*left);
  *r = region_of(w, i->space, at[first]);
  u32 group = lanes_inside(r, at, *left, bytes);
  bool frozen = (r->space == CONST || r->space == PARAM) && flags & STORE;
  if (!(group >> first & 1) || frozen) {
    announce_invalid(w, i, first, at[first], bytes, flags | (frozen ? READONLY : 0));
    *left &= ~(1u << first);
    return 0;
  }
  *left &= ~group;
  u32 fill = (u32)(at[first] - r->base);
  if (group == FULL) {
    EACH_LANE { offset[l] = (u32)(at[l] - r->base); }
  } else {
    for (u32 l = 0; l < LANES; l++) offset[l] = group >> l & 1 ? (u32)(at[l] - r->base) : fill;
  }
  if (group != w->mask) set_mask(w, group);
  return group;
}

/* Whether a lane would store the value that memory already holds. A copy has no register to compare
 * (width 0). */
bool stores_same(const Warp *w, const Insn *i, u32 lane, const u8 *memory) {
  if (!i->width) return false;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    u64 x = register_lane(w, ref, i->width, lane);
    if (memcmp(memory + k * i->size, &x, i->size)) return false;
  }
  return true;
}
bool lanes_store_same(const Warp *w, const Insn *i, u32 a, u32 b) {
  u8 bytes[64] = {0};
  if (!i->width) return false;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    u64 x = register_lane(w, ref, i->width, b);
    memcpy(bytes + k * i->size, &x, i->size);
  }
  return stores_same(w, i, a, bytes);
}
