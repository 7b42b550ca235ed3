/* What was found, folded: one entry for each kind, place and partner, with an exact count. */
#include <string.h>
#include "core.h"

static bool same_place(const Report *a, const Report *b) {
  return a->kind == b->kind && a->pc == b->pc && a->pc2 == b->pc2 && a->flags == b->flags &&
         a->space == b->space && a->buffer == b->buffer;
}

static u32 place(const Report *r) {
  u64 h = r->pc * 0x9E3779B97F4A7C15ull + r->pc2 * 0xC2B2AE3D27D4EB4Full +
          (r->kind * 31 + r->flags * 7 + r->space + r->buffer * 131) * 0x165667B19E3779F9ull;
  return (u32)(h >> 40);
}

void report(Worker *k, Report r) {
  Reports *all = &k->reports;
  if (k->launch->stops_at_error && r.kind != EARLY_EXIT) k->stop = true;
  u32 slots = sizeof all->index / sizeof *all->index, at = place(&r) % slots;
  for (; all->index[at]; at = (at + 1) % slots) {
    Report *old = &all->r[all->index[at] - 1];
    if (!same_place(old, &r)) continue;
    if (old->count == 0 || r.block < old->block) {
      u64 count = old->count;
      *old = r;
      old->count = count;
    }
    old->count += r.count;
    return;
  }
  if (all->n == REPORTS) {
    all->lost++;
    return;
  }
  all->r[all->n++] = r;
  all->index[at] = (u16)all->n;
}

void take_back(Worker *k, u32 kind, u32 pc, u32 space) {
  Report r = {.kind = kind, .pc = pc, .space = space};
  Reports *all = &k->reports;
  u32 slots = sizeof all->index / sizeof *all->index;
  for (u32 at = place(&r) % slots; all->index[at]; at = (at + 1) % slots) {
    Report *old = &all->r[all->index[at] - 1];
    if (same_place(old, &r) && old->count) old->count--;
  }
}

void watch_invalid(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags) {
  const Launch *n = w->launch;
  u64 slot = (address - GLOBAL_BASE) >> SLOT_BITS;
  bool global = i->space == GLOBAL || i->space == GENERIC || i->space == CONST;
  bool known = global && address >= GLOBAL_BASE && slot < n->buffers;
  Report r = {.kind = INVALID, .flags = flags, .pc = i->pc, .space = i->space, .size = bytes,
              .block = w->cta->number, .thread = thread_of(w, lane), .address = address, .count = 1};
  if (i->space == SHARED || address + WINDOW - SHARED_BASE < 2 * WINDOW) {
    r.space = SHARED; /* or just before its start */
    r.address = i->space == SHARED ? (u64)(s64)(s32)(u32)address : address - SHARED_BASE;
  } else if (i->space == LOCAL || address - LOCAL_BASE < WINDOW) {
    r.space = LOCAL;
  } else if (known) {
    r.space = GLOBAL;
    r.buffer = (u32)slot;
    r.address = address - n->buffer[slot].base;
    if (n->buffer[slot].dead) r.flags |= FREED;
    if (slot >= n->allocations) {
      r.flags |= HEAP;
      r.extra = (u32)n->buffer[slot].size;
      r.buffer = n->allocations; /* alike ones are one report */
    }
  } else {
    r.flags |= UNKNOWN_BUFFER;
  }
  report(w->worker, r);
}
