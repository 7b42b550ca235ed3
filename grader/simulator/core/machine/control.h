/* How blocks and warps run: launch.c distributes blocks, block.c runs one of them, control.c runs a
 * warp until it waits, barrier.c ends the waits. */
#ifndef MACHINE_CONTROL_H
#define MACHINE_CONTROL_H
#include "machine/warp.h"

#define MAX_ARENA (64u << 20)
#define FUNCTION_BASE 0x050000000000ull
#define FUNCTION_BYTES 16 /* apart: pointers to members use the lowest bit */
enum { BAD_CALL = 1, BAD_TABLE, BAD_BARRIER, REFUSED, MANY_COPIES }; /* the `extra` of a TRAPPED report */
enum { MBARRIER_INIT, MBARRIER_INVALIDATE, MBARRIER_ARRIVE, MBARRIER_DROP, MBARRIER_EXPECT, MBARRIER_ARRIVE_EXPECT }; /* Insn.e */
enum { MBARRIER_COUNTED = 1, MBARRIER_MOST = (1 << 20) - 1 }; /* in Insn.flag, beside RELAXED: c is a count; the largest one */
enum { ORDER_KINDS = 8, ABREAST = 6, PATIENT = 7 }; /* a schedule's number modulo the first: see slice_of */
enum { LONG_WAITS = 2 * ORDER_KINDS }; /* from this number on, waits give up later: see instructions/clock.c */

/* Whether an order is of a kind; with whole turns it is of none. */
static inline bool is_of_kind(const Launch *n, u32 kind) { return n->schedule % ORDER_KINDS == kind && !n->whole_turns; }
/* Whether the last block and the last warp run first in an order that is PATIENT: of two that one waits for, each does. */
static inline bool is_backward(const Launch *n) { return !(n->schedule / ORDER_KINDS & 1); }
enum Outcome { DONE, BLOCKED, ROTATE, STOPPED };

/* block.c */
typedef struct Team {           /* the workers of a launch */
  const Launch *launch;
  struct Proof *proof;          /* proof.h; NULL: none is tried */
  u64 next;                     /* the next block to run */
  bool stop, again, late;
} Team;
f64 now(void);
bool is_late(Worker *k, u32 every);
Cta *new_cta(Worker *k);
void free_cta(Cta *c);
void start_cta(Cta *c, u64 number);
enum Outcome run_cta(Worker *k, Cta *c, u64 slice);
u32 mixed(u32 a, u32 b, u32 c);
void abort_cta(Cta *c, u32 kind);

/* launch.c */
u32 places(const Worker *k); /* how many blocks run in turn at present, at most */
bool has_unstarted(const Worker *k); /* whether blocks that others may wait for have not started */
void run_others(Warp *w, const Insn *i);
void count_pause_changes(Worker *k);
/* Whether others take turns of one step, because a pause may end after each. */
static inline bool takes_steps(const Worker *k) { return k->paused && (k->launch->pause_changes || k->launch->pause_until || k->launch->restored); }
void look_for_pause_end(Worker *k, const Warp *w);

/* control.c */
void set_mask(Warp *w, u32 mask);
void make_runnable(Warp *w, u32 frame, u32 block, u32 mask);
void start_warp(Warp *w, u32 function);
enum Outcome run_warp(Warp *w);
void fail(Warp *w, u32 kind, u32 pc, u32 extra);

/* polls.c */
void look(Warp *w, const Insn *i, const u64 *at, u32 lanes);
bool is_patient(Warp *w);
void expect(Worker *k, Warp *w, const Insn *i);
bool is_restored(Worker *k);
void wake_changed(Warp *w);
bool dozes(Warp *w);
void wake(Warp *w);
bool block_dozes(Cta *c);
void wake_block(Cta *c);

/* endless.c */
void start_loop_watch(Warp *w);
bool find_endless(Warp *w, u32 frame, u32 block);
bool abort_endless(Cta *c);
void watch_repetition(Cta *c, bool last);
bool repeats_itself(const Cta *c);
bool leap(Worker *k);

/* barrier.c. In the kind of a Wait at a barrier, and in the flag of its basic block: */
enum { BAR_SYNC = 0, BAR_ARRIVE = 1, BAR_RED_POPC = 2, BAR_RED_AND = 3, BAR_RED_OR = 4, BAR_KIND = 7,
       BAR_ALIGNED = 8, BAR_COUNTED = 16, BAR_NEGATED = 32,
       BAR_OF_BLOCK = 64 }; /* CUDA's own, as __syncthreads(): all threads of the block execute one call */
void arrive(Warp *w, const BasicBlock *b, u32 frame);
void arrive_in_warp(Warp *w, const BasicBlock *b, u32 frame);
bool release_barriers(Cta *c);
bool release_warp_waits(Warp *w, bool force);
bool members_arrived(const Warp *w, const Wait *x);

/* async_copy.c */
void start_copies(Cta *c);
void free_copies(Cta *c);
void track_copies(Warp *w, const Insn *i, const u32 *barrier);

/* mbarrier.c */
void complete_transaction(Warp *w, const Insn *i, u64 barrier, u32 bytes);
s32 pending_bytes(const Cta *c, u32 offset);
void counts_of(const Cta *c, u32 offset, u32 *expected, u32 *missing);

/* clock.c: the simulated cycles of a warp in its turn so far */
u64 turn_cycles(const Warp *w);

/* heap.c */
bool open_heap(Launch *n);
void close_heap(Launch *n, Buffer *given);

#endif
