/* Where an address leads: shared between ld/st, atomics and asynchronous copies. */
#ifndef MEMORY_H
#define MEMORY_H
#include "core.h"

typedef struct {
  u32 space;     /* enum Space; GENERIC: nowhere */
  u64 base, size;
  u8 *data;
  Buffer *buffer;
} Region;

Region region_of(const Warp *w, u32 space, u64 at);
u32 lanes_inside(const Region *r, const u64 *at, u32 mask, u32 bytes);
u32 drop_misaligned(Warp *w, const Insn *i, const u64 *at, u32 mask, u32 bytes, u32 flags);
u32 next_group(Warp *w, const Insn *i, const u64 *at, u32 *left, u32 bytes, u32 flags, Region *r,
               u32 *offset);
bool stores_same(const Warp *w, const Insn *i, u32 lane, const u8 *memory);
bool lanes_store_same(const Warp *w, const Insn *i, u32 a, u32 b);

#endif
