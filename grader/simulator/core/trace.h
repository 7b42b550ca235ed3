/* The access trace of a small launch, which runs on one thread. */
#ifndef TRACE_H
#define TRACE_H
#include "core.h"

static inline bool is_traced(const Warp *w, u32 space, bool stores) {
  const Launch *n = w->launch;
  return n->trace && (!n->only_stores || (stores && space == GLOBAL));
}
void trace_access(Warp *w, const Insn *i, u32 space, const Buffer *b, const u32 *offset, u32 bytes);

#endif
