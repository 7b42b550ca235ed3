/* The trace: one record for each lane's access, of a small launch, which runs on one thread. With
 * only_stores, those to global memory alone; then reads need not be announced to it. With only_strong, strong
 * accesses and atomics, or plain ones too, and whether they change memory. With trace_sync, also what orders the
 * accesses: tests/model computes from it which of them race. */
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/watchers.h"

static void add_record(Warp *w, AccessRecord r) {
  Launch *n = (Launch *)w->launch;
  n->traced++;
  if (n->traced > n->trace_room) {
    w->worker->stop |= n->only_strong; /* of which all are wanted, or none */
    return;
  }
  r.block = w->cta->number;
  r.phase = (u32)w->cta->barriers;
  n->trace[n->traced - 1] = r;
}

enum { STRONG = VOLATILE | ACQUIRE | RELEASE | RELAXED, PLAIN_TOO = 2 };

static bool is_wanted(const Warp *w, const Insn *i, const Region *r) {
  if (w->launch->only_strong == PLAIN_TOO) return r->space == GLOBAL || r->space == SHARED;
  return !w->launch->only_strong || i->flag & STRONG;
}

static void add_access(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u32 bytes, u32 event, u64 value) {
  add_record(w, (AccessRecord){.at = offset, .value = value, .thread = thread_of(w, lane), .pc = i->pc, .space = r->space, .event = event,
                               .buffer = r->buffer ? (u32)(r->buffer - w->launch->buffer) : 0, .bytes = bytes});
}

static u64 value_at(const Warp *w, const Region *r, u32 offset, u32 bytes) {
  u64 x = 0;
  if (w->launch->only_strong && r->space != LOCAL) memcpy(&x, r->data + offset, bytes < sizeof x ? bytes : sizeof x);
  return x;
}

static void add_records(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (w->launch->only_stores && r->space != GLOBAL) return;
  if (!is_wanted(w, i, r)) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    add_access(w, i, r, l, offset[l], bytes, ACCESS, value_at(w, r, offset[l], bytes));
  }
}

/* What memory has before a lane's store: that of a lower lane may be to the same place. */
static u64 value_before(const Warp *w, const Insn *i, const Region *r, u32 lane, const u32 *offset, u32 bytes) {
  for (u32 l = lane; i->width && i->count == 1 && l-- > 0;)
    if (w->mask >> l & 1 && offset[l] == offset[lane]) return register_lane(w, i->d, i->width, l) & ~0ull >> (64 - 8 * i->size);
  return value_at(w, r, offset[lane], bytes);
}

static void add_stores(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!w->launch->only_strong) { add_records(w, i, r, offset, bytes); return; }
  for (u32 m = is_wanted(w, i, r) ? w->mask : 0; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 before = value_before(w, i, r, l, offset, bytes);
    bool same = (r->space == GLOBAL || r->space == SHARED) && stores_same(w, i, l, i->count == 1 ? (const u8 *)&before : r->data + offset[l]);
    add_access(w, i, r, l, offset[l], bytes, same ? UNCHANGED : ACCESS, before);
  }
}

static void add_atomics(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!w->launch->only_strong) add_records(w, i, r, offset, bytes);
}

static void add_update(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now) {
  u64 differ = (old ^ now) & ~0ull >> (64 - 8 * i->size);
  if (w->launch->only_strong) add_access(w, i, r, lane, offset, i->size, differ ? ACCESS : UNCHANGED, old);
}

static void add_events(Warp *w, u32 mask, u32 event, u64 at, u32 detail) {
  for (u32 m = mask; m; m &= m - 1)
    add_record(w, (AccessRecord){.at = at, .thread = thread_of(w, first_lane(m)), .event = event,
                                 .bytes = detail});
}

static void add_fence(Warp *w, u32 flag) { add_events(w, w->mask, FENCE, 0, flag); }
static void add_warp_sync(Warp *w, u32 mask) { add_events(w, mask, WARP_SYNC, w->launch->traced, 0); }
static void add_arrival(Warp *w, u32 pc, u32 id, u32 mask, u32 count) {
  (void)pc, (void)count;
  add_events(w, mask, BARRIER_ARRIVED, id, 0);
}

static void add_mbarrier(Warp *w, const Insn *i, const u32 *offset) {
  Region shared = {.space = SHARED};
  add_records(w, i, &shared, offset, sizeof(u64));
}

/* All threads that complete the barrier arrive and leave. */
static void add_barrier(Cta *c, u32 id, bool full) {
  (void)full;
  u64 number = c->worker->launch->traced;
  for (u32 pass = 0; pass < 2; pass++)
    for (u32 x = 0; x < c->warps; x++)
      for (u32 n = 0; n < c->warp[x].waits; n++) {
        const Wait *t = &c->warp[x].wait[n];
        if (!leaves_barrier(t, id)) continue;
        add_events(&c->warp[x], t->mask, pass ? BARRIER_LEFT : BARRIER_ARRIVED, id, (u32)number);
      }
}

static bool listens_to_reads(const Launch *n) { return n->trace && !n->only_stores; }
static bool listens_to_writes(const Launch *n) { return n->trace; }
static bool listens_to_sync(const Launch *n) { return n->trace && n->trace_sync; }

const Watcher trace_reads_watcher = {.listens = listens_to_reads, .read = add_records,
                                      .request = add_records};
const Watcher trace_writes_watcher = {
    .listens = listens_to_writes, .write = add_stores, .atomic = add_atomics, .atomic_request = add_atomics,
    .updated = add_update};
const Watcher trace_sync_watcher = {
    .listens = listens_to_sync, .fence = add_fence, .warp_synced = add_warp_sync,
    .barrier_arrived = add_arrival, .barrier_completed = add_barrier, .mbarrier_set = add_mbarrier,
    .mbarrier_arrived = add_mbarrier, .mbarrier_tested = add_mbarrier};
