/* PTX ISA, "Texture Instructions": tex, tld4 and txq, of objects without mipmaps (so that a level, or
 * gradients, select the only one). CUDA C++ Programming Guide, "Texture Fetching".
 *
 * A coordinate x, or x times the extent if it is normalized, is a place u in texels. Without a filter the
 * texel is floor(u). With the linear filter it is the weighted sum of the texels floor(u - 0.5) and the next
 * one in each dimension; the weight of the next one is the fraction of u - 0.5, in 9 bits of fixed point
 * with 8 bits of fraction, here rounded to the nearest. Products of weights are exact, and the sum is rounded
 * once. A GPU may cut the fraction off instead, and may round sums on the way: equal where the fractions are
 * multiples of 1/256 and the products exact, else within
 * dims * 2^-8 * (largest - smallest of the texels) + 2^-15 * (largest magnitude).
 *
 * A normalized coordinate has 21 bits of fraction, the rest is cut off, as an H200 does: x / (float)width,
 * the left edge of texel x, mostly gives texel x - 1. A channel that the texels do not have is 0. */
#include <math.h>
#include <string.h>
#include "machine/control.h"
#include "machine/image.h"
#include "machine/instructions/float.h"

enum { WHOLE_COORDINATES = 8, WHOLE_RESULT = 16, COMPONENT_SHIFT = 5 }; /* in the mode */
enum { CHANNELS = 4, UNIT = 256 };
enum Query { WIDTH, HEIGHT, DEPTH, LAYERS };
#define FAR 0x1p30
#define FINEST 0x1p21
#define NO_TEXEL 0xFFFFFFFFu

/* A place in one dimension: two texels and the weight of the second one, of UNIT. */
typedef struct { s64 first; u32 weight; } Place;
typedef struct { Place at[3]; u32 layer; } Fetch;
/* What lanes have fetched so far. */
typedef struct { f64 sum[CHANNELS]; u32 whole[CHANNELS]; } Texel;

static Place place_of(const Image *t, u32 d, f32 x, bool linear) {
  f64 u = x == x ? x : 0;
  if (t->flags & IS_NORMALIZED) u = floor(fmin(fmax(u, -FAR), FAR) * FINEST) / FINEST * t->extent[d];
  u = fmin(fmax(u, -FAR), FAR) - (linear ? 0.5 : 0);
  f64 first = floor(u);
  u32 weight = linear ? (u32)rint((u - first) * UNIT) : 0;
  return weight == UNIT ? (Place){(s64)first + 1, 0} : (Place){(s64)first, weight};
}

/* The texel that stands for number i of a row of n; -1: the border, where every channel is 0. */
static s64 addressed(s64 i, s64 n, u32 mode) {
  if (i >= 0 && i < n) return i;
  if (mode == BORDERED) return -1;
  if (mode == CLAMPED) return i < 0 ? 0 : n - 1;
  s64 period = mode == MIRRORED ? 2 * n : n, k = (i % period + period) % period;
  return k < n ? k : 2 * n - 1 - k;
}

static f64 channel_of(const Image *t, const u8 *p) {
  f64 most = t->bytes == 1 ? (t->type == SIGNED_TEXELS ? 127 : 255) : t->type == SIGNED_TEXELS ? 32767 : 65535;
  u32 bits = 0;
  memcpy(&bits, p, t->bytes);
  if (t->type == FLOAT_TEXELS) return t->bytes == 2 ? half_to_f64((u16)bits, 0) : (f64)f32_of(bits);
  if (t->type == UNSIGNED_TEXELS) return (f32)(bits / most);
  f64 x = (f32)((t->bytes == 1 ? (s8)bits : (s16)bits) / most);
  return x < -1 ? -1 : x;
}

static u32 whole_channel(const Image *t, const u8 *p) {
  u32 bits = 0;
  memcpy(&bits, p, t->bytes);
  if (t->type != SIGNED_TEXELS || t->bytes == 4) return bits;
  return t->bytes == 1 ? (u32)(s32)(s8)bits : (u32)(s32)(s16)bits;
}

/* The place of a lane's fetch; false where there is none, which is announced. */
static bool fetch_of(Warp *w, const Insn *i, const Image *t, u32 l, bool linear, Fetch *f) {
  const u8 *at = (const u8 *)DST(u8, (u32)i->imm);
  u32 bits[CHANNELS];
  for (u32 k = 0; k < CHANNELS; k++) bits[k] = ((const u32 *)(at + k * COORDINATE_BYTES))[l];
  u32 from = i->mode & LAYERED ? 1 : 0;
  *f = (Fetch){.layer = from ? bits[0] : 0};
  if (from && f->layer >= t->layers) {
    announce_image_fault(w, i, l, number_of(w->launch, t), NO_LAYER, bits[0]);
    return false;
  }
  for (u32 d = 0; d < t->dims; d++)
    f->at[d] = i->mode & WHOLE_COORDINATES ? (Place){(s32)bits[from + d], 0} : place_of(t, d, f32_of(bits[from + d]), linear);
  return true;
}

/* The byte of the texel at a corner of a fetch; bit d of `corner` selects the second one of dimension d. */
static u32 corner_offset(const Image *t, const Fetch *f, u32 corner, u64 size) {
  u64 index[3] = {0, 0, f->layer};
  for (u32 d = 0; d < t->dims; d++) {
    s64 n = t->extent[d], k = f->at[d].first + (corner >> d & 1);
    s64 texel = addressed(k, n, t->flags & IS_LINEAR_MEMORY ? BORDERED : t->address[d]);
    if (texel < 0) return NO_TEXEL;
    index[d] = (u64)texel;
  }
  u32 bytes = t->channels * t->bytes;
  u64 offset = row_of(t, index[1], index[2]) + index[0] * bytes;
  return offset + bytes <= size ? (u32)offset : NO_TEXEL;
}

static u32 corner_weight(const Image *t, const Fetch *f, u32 corner) {
  u32 weight = 1;
  for (u32 d = 0; d < t->dims; d++) weight *= corner >> d & 1 ? f->at[d].weight : UNIT - f->at[d].weight;
  return weight;
}

/* Reads the texels of lanes with a place, after announcing them. */
static void read_texels(Warp *w, const Insn *i, const Image *t, u32 lanes, u32 *offset, const u8 **texel) {
  u32 inside = 0;
  for (u32 m = lanes; m; m &= m - 1) inside |= (u32)(offset[first_lane(m)] != NO_TEXEL) << first_lane(m);
  for (u32 l = 0; l < LANES; l++) texel[l] = NULL;
  if (!inside) return;
  Region r = texels_of(w->launch, t);
  Insn one = texel_access(i, t);
  for (u32 l = 0; l < LANES; l++) {
    if (inside >> l & 1) texel[l] = r.data + offset[l];
    else offset[l] = offset[first_lane(inside)];
  }
  set_mask(w, inside);
  announce_read(w, &one, &r, offset, t->channels * t->bytes);
}

static void add_corner(Warp *w, const Insn *i, const Image *t, u32 lanes, const Fetch *f, u32 corner, Texel *out) {
  u32 offset[LANES] __attribute__((aligned(32))) = {0}, read = 0;
  const u8 *texel[LANES];
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = first_lane(m);
    if (!corner_weight(t, &f[l], corner)) continue;
    offset[l] = corner_offset(t, &f[l], corner, w->launch->buffer[t->buffer].size);
    read |= 1u << l;
  }
  read_texels(w, i, t, read, offset, texel);
  for (u32 m = read; m; m &= m - 1) {
    u32 l = first_lane(m);
    f64 weight = ldexp(corner_weight(t, &f[l], corner), -8 * (int)t->dims);
    for (u32 c = 0; texel[l] && c < t->channels; c++) {
      const u8 *p = texel[l] + c * t->bytes;
      if (i->mode & WHOLE_RESULT) out[l].whole[c] = whole_channel(t, p);
      else out[l].sum[c] += weight * channel_of(t, p);
    }
  }
}

static void put_texels(Warp *w, const Insn *i, u32 lanes, const Texel *out) {
  for (u32 c = 0; c < CHANNELS; c++) {
    u32 *d = DST(u32, result_operand(i, c));
    for (u32 m = lanes; m; m &= m - 1) {
      const Texel *x = &out[first_lane(m)];
      d[first_lane(m)] = i->mode & WHOLE_RESULT ? x->whole[c] : bits32((f32)x->sum[c]);
    }
  }
}

/* Whether an instruction can fetch from an object in its way; announced for all lanes where not. */
static bool fits(Warp *w, const Insn *i, const Image *t, u32 lanes) {
  bool gives_float = t->type == FLOAT_TEXELS || t->flags & READS_FLOAT, from_memory = t->flags & IS_LINEAR_MEMORY;
  u32 fault = 0;
  if (t->dims == 1 && !t->layers && from_memory != !!(i->mode & WHOLE_COORDINATES)) fault = OTHER_SHAPE;
  else if (gives_float == !!(i->mode & WHOLE_RESULT)) fault = OTHER_TYPE;
  for (u32 m = fault ? lanes : 0; m; m &= m - 1)
    announce_image_fault(w, i, first_lane(m), number_of(w->launch, t), fault, 0);
  return !fault;
}

/* The lanes of one object, and their places. */
static u32 start_fetches(Warp *w, const Insn *i, const Image *t, u32 lanes, bool linear, Fetch *f) {
  u32 placed = 0;
  for (u32 m = fits(w, i, t, lanes) ? lanes : 0; m; m &= m - 1) {
    u32 l = first_lane(m);
    placed |= (u32)fetch_of(w, i, t, l, linear, &f[l]) << l;
  }
  return placed;
}

void ptx_tex(Warp *w, const Insn *i) {
  u32 whole = w->mask, left = whole, group;
  Texel out[LANES] = {0};
  Fetch f[LANES];
  while (left) {
    const Image *t = next_image(w, i, false, &left, &group);
    if (!t) continue;
    bool linear = t->flags & IS_FILTERED && !(i->mode & WHOLE_COORDINATES);
    u32 placed = start_fetches(w, i, t, group, linear, f);
    for (u32 corner = 0; corner < (linear ? 1u << t->dims : 1); corner++) add_corner(w, i, t, placed, f, corner, out);
  }
  put_texels(w, i, whole, out);
  if (w->mask != whole) set_mask(w, whole);
}

/* tld4: one channel of the four texels that the linear filter would use, whatever their weights. */
void ptx_tld4(Warp *w, const Insn *i) {
  static const u32 corners[CHANNELS] = {2, 3, 1, 0}; /* bit 0: the next x; bit 1: the next y */
  u32 whole = w->mask, left = whole, group, channel = i->mode >> COMPONENT_SHIFT & 3;
  Texel out[LANES] = {0};
  Fetch f[LANES];
  while (left) {
    const Image *t = next_image(w, i, false, &left, &group);
    if (!t) continue;
    u32 placed = start_fetches(w, i, t, group, true, f);
    for (u32 m = placed; m; m &= m - 1) out[first_lane(m)] = (Texel){0};
    for (u32 k = 0; k < CHANNELS; k++) {
      u32 offset[LANES] __attribute__((aligned(32))) = {0};
      const u8 *texel[LANES];
      for (u32 m = placed; m; m &= m - 1)
        offset[first_lane(m)] = corner_offset(t, &f[first_lane(m)], corners[k], w->launch->buffer[t->buffer].size);
      read_texels(w, i, t, placed, offset, texel);
      for (u32 m = placed; m; m &= m - 1) {
        u32 l = first_lane(m);
        bool has = texel[l] && channel < t->channels, one = channel == 3 && t->channels < CHANNELS;
        const u8 *p = has ? texel[l] + channel * t->bytes : NULL;
        out[l].sum[k] = has && !(i->mode & WHOLE_RESULT) ? channel_of(t, p) : one;
        out[l].whole[k] = has && i->mode & WHOLE_RESULT ? whole_channel(t, p) : one;
      }
    }
  }
  put_texels(w, i, whole, out);
  if (w->mask != whole) set_mask(w, whole);
}

/* txq and suq: an extent of an object. */
void ptx_txq(Warp *w, const Insn *i) {
  const u64 *handle = SRC(u64, i->a);
  u32 *d = DST(u32, i->d), number;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    const Image *t = image_of(w->launch, handle[l], &number);
    if (!t) announce_image_fault(w, i, l, 0, NO_OBJECT, handle[l]);
    d[l] = !t ? 0 : i->mode == LAYERS ? t->layers : t->extent[i->mode];
  }
}
