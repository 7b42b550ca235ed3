/* Which texture or surface object a handle is, and where its texels are: for instructions/texture.c and
 * surface.c. */
#ifndef MACHINE_IMAGE_H
#define MACHINE_IMAGE_H
#include "machine/events.h"
#include "machine/memory.h"

/* The mode of an instruction: its dimensions, and the shape. Coordinates are in scratch registers, in a row;
 * a layer comes first. */
enum { DIMENSIONS = 3, LAYERED = 4 };
enum { COORDINATE_BYTES = 4 * LANES };

static inline const Image *image_of(const Launch *n, u64 handle, u32 *number) {
  u64 at = handle - IMAGE_BASE;
  *number = (u32)(at >> IMAGE_SHIFT);
  bool is_one = handle >= IMAGE_BASE && !(at & ((1u << IMAGE_SHIFT) - 1)) && at >> IMAGE_SHIFT < n->images;
  return is_one ? &n->image[*number] : NULL;
}

/* Of `left`, the lanes with the same object as the first one, taken from it; NULL where it is no object that
 * such an instruction can use, which is announced for each lane. */
static inline const Image *next_image(Warp *w, const Insn *i, bool surface, u32 *left, u32 *group) {
  const u64 *handle = SRC(u64, i->a);
  u64 first = handle[first_lane(*left)];
  u32 number, fault = 0, lanes = 0;
  for (u32 m = *left; m; m &= m - 1) lanes |= (u32)(handle[first_lane(m)] == first) << first_lane(m);
  *group = lanes;
  *left &= ~lanes;
  const Image *t = image_of(w->launch, first, &number);
  if (!t) fault = NO_OBJECT;
  else if (!(t->flags & IS_SURFACE) == surface) fault = OTHER_OBJECT;
  else if (t->dims != (i->mode & DIMENSIONS) || !t->layers != !(i->mode & LAYERED)) fault = OTHER_SHAPE;
  if (!fault) return t;
  for (u32 m = lanes; m; m &= m - 1) announce_image_fault(w, i, first_lane(m), t ? number : 0, fault, first);
  return NULL;
}

static inline u32 number_of(const Launch *n, const Image *t) { return (u32)(t - n->image); }

static inline Region texels_of(const Launch *n, const Image *t) {
  Buffer *b = &n->buffer[t->buffer];
  return (Region){GLOBAL, b->base, b->size, b->data, b};
}

/* The byte of a texel's row in the buffer; `z` is the layer of a layered object. */
static inline u64 row_of(const Image *t, u64 y, u64 z) {
  return (z * t->extent[1] + y) * t->extent[0] * t->channels * t->bytes;
}

/* The instruction as watchers see it: the access of `bytes` in texels. */
static inline Insn texel_access(const Insn *i, const Image *t) {
  Insn one = *i;
  one.size = (u16)t->bytes;
  one.count = (u16)t->channels;
  one.width = 0;
  return one;
}

#endif
