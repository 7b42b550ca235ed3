/* PTX ISA, "Surface Instructions": suld.b and sust.b, which move bytes as they are. x counts bytes, y and z
 * rows and planes. Outside the surface .trap ends the launch, .clamp accesses the nearest place, .zero reads
 * 0 and drops what is written. An x that is not a multiple of the access has no defined effect. */
#include <string.h>
#include "machine/control.h"
#include "machine/image.h"
#include "machine/instructions/operation.h"

enum Outside { TRAPS, CLAMPS, ZEROES };
enum { OUTSIDE_SHIFT = 3 }; /* in the mode */
enum { NOWHERE = 0xFFFFFFFFu };

/* Moves a coordinate into [0, last]; false where it was outside. */
static bool bounded(s64 *x, s64 last) {
  s64 given = *x;
  *x = given < 0 ? 0 : given > last ? last : given;
  return *x == given;
}

/* The byte of a lane's access in the buffer; NOWHERE: there is none, which is announced if it is a fault. */
static u32 offset_of(Warp *w, const Insn *i, const Image *t, u32 l) {
  const u8 *coordinates = (const u8 *)DST(u8, (u32)i->imm);
  s64 at[4];
  for (u32 k = 0; k < 4; k++) at[k] = ((const s32 *)(coordinates + k * COORDINATE_BYTES))[l];
  u32 layered = i->mode & LAYERED ? 1 : 0, bytes = (u32)i->size * i->count, outside = i->mode >> OUTSIDE_SHIFT & 3;
  s64 x = at[layered], y = t->dims > 1 ? at[layered + 1] : 0, z = layered ? (s64)(u32)at[0] : t->dims > 2 ? at[2] : 0;
  u64 place = (u64)(u32)y << 32 | (u32)x, row = (u64)t->extent[0] * t->channels * t->bytes;
  if (x & (bytes - 1)) {
    announce_image_fault(w, i, l, number_of(w->launch, t), UNALIGNED_X, place);
    return NOWHERE;
  }
  if (layered && z >= t->layers) {
    announce_image_fault(w, i, l, number_of(w->launch, t), NO_LAYER, (u64)z);
    return NOWHERE;
  }
  bool inside = row >= bytes && bounded(&x, (s64)((row - bytes) & ~(u64)(bytes - 1)));
  inside &= bounded(&y, (s64)t->extent[1] - 1);
  if (!layered) inside &= bounded(&z, (s64)t->extent[2] - 1);
  if (!inside && outside == TRAPS)
    announce_image_fault(w, i, l, number_of(w->launch, t), OUTSIDE_IMAGE, place);
  if (row < bytes || (!inside && outside != CLAMPS)) return NOWHERE;
  u64 offset = row_of(t, (u64)y, (u64)z) + (u64)x;
  return offset + bytes <= w->launch->buffer[t->buffer].size ? (u32)offset : NOWHERE;
}

static void move(Warp *w, const Insn *i, const Region *r, u32 l, u32 offset, bool stores) {
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    u8 *p = r->data + offset + k * i->size;
    u64 x = stores ? register_lane(w, ref, i->width, l) : 0;
    if (stores) { memcpy(p, &x, i->size); continue; }
    memcpy(&x, p, i->size);
    set_register_lane(w, ref, i->width, l, x);
  }
}

static void access(Warp *w, const Insn *i, bool stores) {
  u32 whole = w->mask, left = whole, group;
  u32 offset[LANES] __attribute__((aligned(32))) = {0};
  for (u32 k = 0; !stores && k < i->count; k++)
    for (u32 m = whole; m; m &= m - 1) set_register_lane(w, result_operand(i, k), i->width, first_lane(m), 0);
  while (left) {
    const Image *t = next_image(w, i, true, &left, &group);
    u32 inside = 0;
    for (u32 m = t ? group : 0; m; m &= m - 1) {
      u32 l = first_lane(m);
      offset[l] = offset_of(w, i, t, l);
      inside |= (u32)(offset[l] != NOWHERE) << l;
    }
    if (!inside) continue;
    for (u32 l = 0; l < LANES; l++) offset[l] = inside >> l & 1 ? offset[l] : offset[first_lane(inside)];
    Region r = texels_of(w->launch, t);
    set_mask(w, inside);
    w->worker->changes += stores;
    if (stores) announce_write(w, i, &r, offset, (u32)i->size * i->count);
    else announce_read(w, i, &r, offset, (u32)i->size * i->count);
    for (u32 m = inside; m; m &= m - 1) move(w, i, &r, first_lane(m), offset[first_lane(m)], stores);
  }
  if (w->mask != whole) set_mask(w, whole);
}
void ptx_suld(Warp *w, const Insn *i) { access(w, i, false); }
void ptx_sust(Warp *w, const Insn *i) { access(w, i, true); }
