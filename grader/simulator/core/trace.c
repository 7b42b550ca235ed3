/* The watcher that writes everything down: one record for each lane's access. */
#include "trace.h"

void trace_access(Warp *w, const Insn *i, u32 space, const Buffer *b, const u32 *offset, u32 bytes) {
  Launch *n = (Launch *)w->launch;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    n->traced++;
    if (n->traced > n->trace_room) continue;
    n->trace[n->traced - 1] = (Touch){.at = offset[l], .block = w->cta->number, .thread = thread_of(w, l),
                                       .pc = i->pc, .phase = (u32)w->cta->barriers, .space = space,
                                       .buffer = b ? (u32)(b - n->buffer) : 0, .bytes = bytes};
  }
}
