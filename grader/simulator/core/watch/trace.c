/* The trace: one record for each lane's access, of a small launch, which runs on one thread. With
 * only_stores, those to global memory alone; then reads need not be announced to it. */
#include "machine/memory.h"
#include "watch/watchers.h"

static void add_records(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  Launch *n = (Launch *)w->launch;
  if (n->only_stores && r->space != GLOBAL) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    n->traced++;
    if (n->traced > n->trace_room) continue;
    n->trace[n->traced - 1] = (AccessRecord){
        .at = offset[l], .block = w->cta->number, .thread = thread_of(w, l), .pc = i->pc,
        .phase = (u32)w->cta->barriers, .space = r->space,
        .buffer = r->buffer ? (u32)(r->buffer - n->buffer) : 0, .bytes = bytes};
  }
}

static bool listens_to_reads(const Launch *n) { return n->trace && !n->only_stores; }
static bool listens_to_writes(const Launch *n) { return n->trace; }

const Watcher trace_reads_watcher = {.listens = listens_to_reads, .read = add_records,
                                      .request = add_records};
const Watcher trace_writes_watcher = {
    .listens = listens_to_writes, .write = add_records, .atomic = add_records};
