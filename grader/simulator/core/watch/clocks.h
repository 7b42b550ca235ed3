/* Vector clocks of a whole launch, shared where they are equal.
 *
 * A clock tells for each block what is known of it: everything of the phases before `phase`, and of
 * that phase each thread up to an epoch. It is a radix tree over block numbers whose nodes never change
 * while they are shared; so a copy is one more reference, and a join visits only what differs. */
#ifndef WATCH_CLOCKS_H
#define WATCH_CLOCKS_H
#include "machine/warp.h"

typedef struct { u32 refs; u32 epoch[LANES]; } Lanes;
typedef struct { u32 refs, phase; u64 number; Lanes *warp[MAX_WARPS]; } Members;
typedef void Clock;             /* Members with one block, else a tree above Members; NULL: nothing known */
typedef struct { u32 levels, warps; } Shape;

/* The last joins and what they gave. The trees and members of a launch have numbers, a new one when they change.
 * Threads that know the same and acquire the same join once, and share what they know then. Two clocks that grow
 * beside each other, such as what a value releases and what fences made known to its writers, share no tree, but
 * at their next join most of their trees have been joined before. */
enum { JOINS = 1 << 11 };
typedef struct { u64 a, b; void *both; u32 level; } Join;
typedef struct { u64 numbers; Join kept[JOINS]; } Joins;

Shape shape_of(const Launch *n);
void *shared_clock(void *node);                      /* one more reference; NULL stays NULL */
void drop_clock(Shape s, Clock **clock);
void drop_members(Shape s, Members **m);
void drop_joins(Shape s, Joins *joins);
void join_clock(Worker *k, Shape s, Clock **to, Clock *from);
void join_members(Worker *k, Shape s, Members **to, Members *from);
void raise_epoch(Worker *k, Shape s, Members **m, u32 phase, u32 thread, u32 epoch);
void raise_warp(Worker *k, Shape s, Members **m, u32 phase, u32 warp, u32 lanes, const u32 *epoch);
const Members *members_of(Shape s, const Clock *clock, u32 block);
Clock *clock_with(Worker *k, Shape s, Clock *clock, u32 block, Members *m);

static inline u32 epoch_in(const Members *m, u32 thread) {
  const Lanes *lanes = m ? m->warp[thread / LANES] : NULL;
  return lanes ? lanes->epoch[thread % LANES] : 0;
}
static inline bool knows(Shape s, const Clock *clock, u32 block, u32 phase, u32 thread, u32 epoch) {
  const Members *m = clock ? members_of(s, clock, block) : NULL;
  return m && (m->phase > phase || (m->phase == phase && epoch_in(m, thread) >= epoch));
}

#endif
