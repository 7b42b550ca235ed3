/* Between control.c and barrier.c: how lanes leave a basic block. */
#ifndef CONTROL_H
#define CONTROL_H
#include "core.h"

#define NO_FRAME 0xFFFFFFFFu
#define MAX_ARENA (64u << 20)
#define FUNCTION_BASE 0x050000000000ull
enum { BAD_CALL = 1, BAD_TABLE, BAD_BARRIER };

void arrive(Warp *w, const BasicBlock *b, u32 frame);
void arrive_in_warp(Warp *w, const BasicBlock *b, u32 frame);
void fail(Warp *w, u32 kind, u32 pc, u32 extra);

#endif
