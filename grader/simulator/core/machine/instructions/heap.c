/* malloc and free of device code. Every allocation is a buffer of its own, so that an access out of
 * its bounds, or after free, is found like any other. Kernels that call malloc run on one thread, so
 * that addresses are deterministic. The table of buffers is copied, since it grows; a freed allocation
 * stays in it, marked dead, so that its addresses are never used again. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/memory.h"
#include "machine/params.h"

enum { GRAIN = 16, MOST = 1 << 20 };

static u64 taken(u64 size) { return (size + GRAIN - 1) / GRAIN * GRAIN + GRAIN; }

bool open_heap(Launch *n) {
  n->allocations = n->buffers;
  if (!n->heap_limit) return true;
  Buffer *own = calloc(n->buffers + 1, sizeof(Buffer));
  if (!own) return false;
  memcpy(own, n->buffer, n->buffers * sizeof(Buffer));
  n->buffer = own;
  return true;
}

void close_heap(Launch *n, Buffer *given) {
  if (n->buffer == given) return;
  for (u32 k = n->allocations; k < n->buffers; k++) free(n->buffer[k].data);
  for (u32 k = 0; k < n->allocations; k++) given[k].written = n->buffer[k].written;
  free(n->buffer);
  n->buffer = given;
  n->buffers = n->allocations;
}

static bool room_for_one(Worker *k, Launch *n) {
  if (n->buffers + 1 < k->buffer_room) return true;
  u32 room = 2 * n->buffers + 64;
  Buffer *p = realloc(n->buffer, room * sizeof(Buffer));
  if (!p) return false;
  n->buffer = p;
  k->buffer_room = room;
  return true;
}

/* The address of `size` new, uninitialized bytes; 0 when the heap has no room. */
static u64 allocate(Warp *w, u64 size) {
  Launch *n = (Launch *)w->launch;
  Worker *k = w->worker;
  if (size > n->heap_limit || k->heap_used + taken(size) > n->heap_limit) return 0;
  if (n->buffers - n->allocations >= MOST || !room_for_one(k, n)) return 0;
  size_t data = (size + 2 * GRAIN) / GRAIN * GRAIN;
  u8 *p = malloc(data);
  if (!p) return 0;
  memset(p, 0xA5, data);
  u64 base = GLOBAL_BASE + ((u64)n->buffers << SLOT_BITS) + SLOT_MIDDLE;
  Buffer *b = &n->buffer[n->buffers];
  *b = (Buffer){.base = base, .size = size, .data = p};
  announce_allocated(w, b);
  k->changes++;
  if (b->dead) {
    announce_freed(w, b);
    free(p);
    return 0;
  }
  n->buffers++;
  k->heap_used += taken(size);
  return base;
}

static void release(Warp *w, const Insn *i, u32 lane, u64 at) {
  Launch *n = (Launch *)w->launch;
  u64 slot = (at - GLOBAL_BASE) >> SLOT_BITS;
  bool made = at >= GLOBAL_BASE && slot >= n->allocations && slot < n->buffers;
  Buffer *b = made ? &n->buffer[slot] : NULL;
  if (!at) return;
  if (!b || b->base != at || b->dead) {
    announce_invalid(w, i, lane, at, 1, STORE | BAD_FREE);
    return;
  }
  announce_freeing(w, i, lane, b);
  w->worker->changes++;
  w->worker->heap_used -= taken(b->size);
  announce_freed(w, b);
  free(b->data);
  b->data = NULL;
  b->dead = i->pc + 1;
}

static u64 parameter(const Warp *w, u32 lane, u32 at) { return get_param(w, lane, w->frame[w->top].params + at, 8); }

/* a and d: where the caller's frame has the argument and the result. */
void ptx_call_malloc(Warp *w, const Insn *i) {
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    put_param(w, l, w->frame[w->top].params + i->d, allocate(w, parameter(w, l, i->a)), 8);
  }
}
void ptx_call_free(Warp *w, const Insn *i) {
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    release(w, i, l, parameter(w, l, i->a));
  }
}
