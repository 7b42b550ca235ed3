/* The access trace of a small launch, which runs on one thread. */
#ifndef TRACE_H
#define TRACE_H
#include "core.h"

void trace_access(Warp *w, const Insn *i, u32 space, const Buffer *b, const u32 *offset, u32 bytes);

#endif
