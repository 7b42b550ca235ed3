/* Shadow memory of a block's shared memory, and its phases.
 *
 * The full barriers of a block divide its run into phases: everything in an earlier phase is ordered
 * before everything in a later one. A stamp is phase << 10 | thread; a stamp below FIRST_PHASE << 10
 * means that no thread wrote. Each granule of shared memory keeps the stamp of its last write and of two
 * readers of the phase. The shadow of global memory is with its Buffer, and uses the same stamps. */
#ifndef WATCH_SHADOW_H
#define WATCH_SHADOW_H
#include "watch/watchers.h"

enum { GAP = 1, FIRST_PHASE = 4 }; /* GAP: between the shared variables; 0: not initialized */
#define THREAD_BITS 10

typedef struct {
  u32 phase;                    /* the present phase << THREAD_BITS */
  u32 *wrote, *read1, *read2, *wrote_pc, *read1_pc, *read2_pc;
  u32 *pending, npending, room; /* uninitialized reads of this phase: see log_uninit */
} Shadow;

static inline Shadow *shadow_of(const Cta *c) { return c->state[shadow_slot]; }
static inline u32 phase_of(const Cta *c) { return shadow_of(c)->phase; }
static inline u32 stamp_thread(u32 stamp) { return stamp & (MAX_BLOCK_THREADS - 1); }

/* Notes a read of an uninitialized granule, reported as such: if another thread writes it in the same
 * phase, the race between the two explains the read, and the report is retracted. With FOLLOWED in pc: it is reported
 * when its value is used, and settle_read notes at the end of this phase what explains it. */
#define FOLLOWED 0x80000000u
void settle_read(Cta *c, u32 pc, u32 thread, bool explained);
void log_uninit(Cta *c, u32 granule, u32 thread, u32 pc);

/* Notes that a buffer is written to. True where it was presumed to be input: reads of it are not noted, and the launch is
 * void. The caller repeats it with the buffer as any other. */
bool write_voids(Worker *k, Buffer *b);

#endif
