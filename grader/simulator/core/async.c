/* PTX ISA, "Data Movement": cp.async. The source is read when the copy starts; the bytes land in
 * shared memory when the thread waits for the copy's group. Until then they are in flight, and
 * whatever touches the place they will land in is a race, the thread's own accesses included.
 * Copies that an mbarrier tracks land at the arrival, which releases them, but keep their place
 * marked until somebody has waited for that mbarrier. */
#include <stdlib.h>
#include <string.h>
#include "memory.h"

enum { LONGEST = 16, MOST_FLIGHTS = 1 << 16 };

/* One execution of cp.async: what each lane copies, and the group it belongs to. */
typedef struct Flight {
  const Insn *insn;
  u32 mask, offset[LANES], group[LANES];
  u8 data[LANES][LONGEST];
} Flight;

/* Of each 4 bytes of shared memory: the copy that will land there, pc + 1, and its thread. */
typedef struct Landing { u32 pc, thread, barrier; } Landing; /* barrier: see land_at */

static u32 landings(const Cta *c) { return c->warp->launch->shared_bytes / 4 + 1; }

void free_flights(Cta *c) {
  for (u32 k = 0; c->warp && k < c->warps; k++) free(c->warp[k].flight);
  free(c->landing);
}

void forget_flights(Cta *c) {
  for (u32 k = 0; k < c->warps; k++) {
    c->warp[k].flights = 0;
    memset(c->warp[k].groups, 0, sizeof c->warp[k].groups);
  }
  if (c->flying) memset(c->landing, 0, landings(c) * sizeof(Landing));
  c->flying = c->tracked = 0;
}

void watch_landing(Warp *w, const Insn *i, const u32 *offset, u32 bytes, bool stores) {
  const Landing *to = w->cta->landing;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m), at = offset[l] / 4;
    while (!to[at].pc && at < (offset[l] + bytes - 1) / 4) at++;
    if (!to[at].pc) continue;
    report(w->worker, (Report){.kind = RACE, .flags = IN_FLIGHT | OTHER_STORE | (stores ? STORE : 0),
                               .pc = i->pc, .pc2 = to[at].pc - 1, .space = SHARED, .address = offset[l],
                               .block = w->cta->number, .block2 = w->cta->number, .size = bytes,
                               .thread = thread_of(w, l), .thread2 = to[at].thread, .count = 1});
  }
}

static Flight *new_flight(Warp *w) {
  Cta *c = w->cta;
  if (!c->landing) c->landing = calloc(landings(c), sizeof(Landing));
  if (w->flights == w->flight_room && w->flight_room < MOST_FLIGHTS) {
    u32 room = w->flight_room ? 2 * w->flight_room : 8;
    Flight *p = realloc(w->flight, room * sizeof(Flight));
    if (p) { w->flight = p; w->flight_room = room; }
  }
  if (!c->landing || w->flights == w->flight_room) {
    w->worker->stop = w->worker->no_memory = true;
    return NULL;
  }
  return &w->flight[w->flights];
}

static void forget_tracked(Cta *c, Landing *at) {
  *at = (Landing){0};
  c->flying--;
  c->tracked--;
}

/* The place of a lane's copy stays marked: `barrier` tracks it, by its offset in shared memory. */
static void track(Warp *w, const Flight *f, u32 l, u32 barrier) {
  Cta *c = w->cta;
  for (u32 k = 0; k < f->insn->size / 4u; k++)
    c->landing[f->offset[l] / 4 + k] = (Landing){f->insn->pc + 1, thread_of(w, l), barrier + 1};
  c->flying += f->insn->size / 4u;
  c->tracked += f->insn->size / 4u;
}

void land_at(Cta *c, u32 barrier) {
  for (u32 k = 0; c->tracked && k < landings(c); k++)
    if (c->landing[k].barrier == barrier + 1) forget_tracked(c, &c->landing[k]);
}

/* What the active lanes' threads have on its way is here, whoever tracks it. */
static void land_tracked(Warp *w) {
  Cta *c = w->cta;
  for (u32 k = 0; c->tracked && k < landings(c); k++) {
    const Landing *at = &c->landing[k];
    u32 l = at->thread - w->base;
    if (at->barrier && l < LANES && w->lane[l]) forget_tracked(c, &c->landing[k]);
  }
}

static void land(Warp *w, Flight *f, u32 lanes) {
  const Insn *i = f->insn;
  u32 whole = w->mask, bytes = i->size;
  Landing *to = w->cta->landing;
  f->mask &= ~lanes;
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    for (u32 k = 0; k < bytes / 4; k++) to[f->offset[l] / 4 + k].pc = 0;
    w->cta->flying--;
  }
  set_mask(w, lanes);
  u32 offset[LANES], fill = f->offset[__builtin_ctz(lanes)];
  for (u32 l = 0; l < LANES; l++) offset[l] = lanes >> l & 1 ? f->offset[l] : fill;
  watch_shared_write(w, i, offset, bytes);
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    memcpy(w->cta->shared + offset[l], f->data[l], bytes);
  }
  set_mask(w, whole);
}

/* The active lanes' copies land, but those of their newest `keep` groups. */
static void wait_for(Warp *w, u32 keep, const u32 *barrier) {
  u32 left = 0;
  for (u32 k = 0; k < w->flights; k++) {
    Flight *f = &w->flight[k];
    u32 ripe = 0;
    for (u32 m = f->mask & w->mask; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      ripe |= (u32)(f->group[l] + keep < w->groups[l]) << l;
    }
    if (ripe) land(w, f, ripe);
    for (u32 m = barrier ? ripe : 0; m; m &= m - 1)
      track(w, f, (u32)__builtin_ctz(m), barrier[__builtin_ctz(m)]);
    if (f->mask) w->flight[left++] = *f;
  }
  w->flights = left;
}

void ptx_cp_async_commit_group(Warp *w, const Insn *i) {
  (void)i;
  for (u32 l = 0; l < LANES; l++) w->groups[l] += w->lane[l] & 1;
}
void ptx_cp_async_wait_group(Warp *w, const Insn *i) {
  if (!i->imm) land_tracked(w);
  wait_for(w, (u32)i->imm, NULL);
}
void ptx_cp_async_wait_all(Warp *w, const Insn *i) {
  ptx_cp_async_commit_group(w, i);
  land_tracked(w);
  wait_for(w, 0, NULL);
}
void track_flights(Warp *w, const Insn *i, const u32 *barrier) {
  ptx_cp_async_commit_group(w, i);
  wait_for(w, 0, barrier);
}

static u64 address(Warp *w, u32 ref, u32 width, u32 l) {
  return width == 4 ? SRC(u32, ref)[l] : SRC(u64, ref)[l];
}

/* The source of each lane of the flight: a global read of `c` bytes, the rest zeros. */
static void take_off(Warp *w, const Insn *i, Flight *f, const u32 *size) {
  Insn read = *i;
  read.space = GLOBAL;
  u64 at[LANES];
  u32 offset[LANES], whole = w->mask, left = 0, bytes = i->size;
  for (u32 l = 0; l < LANES; l++) {
    at[l] = address(w, i->b, i->mode >> 4, l) + (u64)(s64)(s32)i->e;
    left |= (u32)(w->lane[l] && size[l]) << l;
  }
  for (u32 l = 0; left && l < LANES; l++)
    if (!(left >> l & 1)) at[l] = at[__builtin_ctz(left)];
  memset(f->data, 0, sizeof f->data);
  left = drop_misaligned(w, &read, at, left, bytes, 0);
  while (left) {
    Region r;
    u32 least = bytes, here = left;
    for (u32 m = left; m; m &= m - 1)
      if (size[__builtin_ctz(m)] < least) least = size[__builtin_ctz(m)];
    for (u32 m = left; m; m &= m - 1)
      if (size[__builtin_ctz(m)] != least) here &= ~(m & -m);
    u32 rest = left & ~here, group = next_group(w, &read, at, &here, least, 0, &r, offset);
    left = rest | here;
    if (!group) continue;
    if (r.space == GLOBAL) {
      watch_global_read(w, &read, r.buffer, offset, least);
      if (w->launch->counter) count_global(w, &read, offset, least);
    }
    for (u32 m = group; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      memcpy(f->data[l], r.data + offset[l], least);
    }
  }
  if (w->mask != whole) set_mask(w, whole);
}

/* a: destination, b: source; size: bytes of the copy; c: bytes of the source when flag; mode: the
 * width of the destination's address and, << 4, of the source's; imm and e their displacements. */
void ptx_cp_async(Warp *w, const Insn *i) {
  u32 whole = w->mask, size[LANES], bytes = i->size;
  u64 to[LANES];
  Flight *f = new_flight(w);
  if (!f) return;
  *f = (Flight){.insn = i};
  for (u32 l = 0; l < LANES; l++) {
    u32 n = i->flag ? SRC(u32, i->c)[l] : bytes;
    size[l] = n < bytes ? n : bytes;
    to[l] = address(w, i->a, i->mode & 15, l) + (u64)i->imm;
    f->group[l] = w->groups[l];
  }
  for (u32 l = 0; l < LANES; l++)
    if (!w->lane[l]) to[l] = to[__builtin_ctz(whole)];
  take_off(w, i, f, size);
  Insn write = *i;
  u32 left = drop_misaligned(w, &write, to, whole, bytes, STORE), offset[LANES];
  while (left) {
    Region r;
    u32 group = next_group(w, &write, to, &left, bytes, STORE, &r, offset);
    if (!group || r.space != SHARED) continue;
    if (w->cta->flying) watch_landing(w, i, offset, bytes, true);
    watch_shared_write(w, i, offset, bytes);
    for (u32 m = group; m; m &= m - 1) {
      u32 l = (u32)__builtin_ctz(m);
      f->offset[l] = offset[l];
      for (u32 k = 0; k < bytes / 4; k++) {
        Landing *to_here = &w->cta->landing[offset[l] / 4 + k];
        if (to_here->barrier) forget_tracked(w->cta, to_here);
        *to_here = (Landing){.pc = i->pc + 1, .thread = thread_of(w, l)};
      }
      w->cta->flying++;
    }
    f->mask |= group;
  }
  if (w->mask != whole) set_mask(w, whole);
  if (f->mask) w->flights++;
}
