/* Pointers to shared memory in global memory. On a GPU such a pointer refers to the memory of the block that
 * uses it, not of the one that stored it. The place of each is noted with its block; another block that loads
 * it gets a value that is no address, whose use is announced as an invalid access. */
#include <stdlib.h>
#include "machine/memory.h"

typedef struct Pointer { const u8 *place; u64 value; u32 block; } Pointer;

static Pointer *entry_of(const Pointers *t, const u8 *place) {
  u32 at = (u32)(((u64)place * 0x9E3779B97F4A7C15ull) >> 32) & (t->room - 1);
  while (t->pointer[at].place && t->pointer[at].place != place) at = (at + 1) & (t->room - 1);
  return &t->pointer[at];
}

static bool make_room(Pointers *t) {
  if (2 * (t->used + 1) <= t->room) return true;
  Pointers more = {.room = t->room ? 2 * t->room : 64, .used = t->used};
  more.pointer = calloc(more.room, sizeof(Pointer));
  if (!more.pointer) return false;
  for (u32 k = 0; k < t->room; k++)
    if (t->pointer[k].place) *entry_of(&more, t->pointer[k].place) = t->pointer[k];
  free(t->pointer);
  *t = more;
  return true;
}

void note_pointer(Warp *w, const u8 *place, u64 value) {
  Pointers *t = &w->worker->pointers;
  if (!make_room(t)) { out_of_memory(w->worker); return; }
  Pointer *p = entry_of(t, place);
  t->used += !p->place;
  *p = (Pointer){place, value, w->cta->number};
}

u64 pointer_here(const Warp *w, const u8 *place, u64 value) {
  const Pointers *t = &w->worker->pointers;
  const Pointer *p = entry_of(t, place);
  bool foreign = p->place && p->value == value && p->block != w->cta->number;
  return foreign ? value | FOREIGN_MARK : value;
}
