/* What watchers report with. */
#ifndef WATCH_FINDINGS_H
#define WATCH_FINDINGS_H
#include "watch/watchers.h"

/* Adds a finding, or its count to that of an equal one. */
void report(Worker *k, Report r);
/* Where a finding is, as findings are told apart, and its block. */
typedef struct { u32 kind, flags, pc, pc2, space, buffer, block; } Spot;
/* Counts a finding that is at the place of the latest one. False: it is to be reported. */
bool found_again(Worker *k, const Spot *p);
/* Takes one uninitialized read at `pc`, by `thread`, off the count, or shows it as the first one where the
 * read that was shown is taken off. */
void retract_read(Worker *k, u32 pc, u32 space, u32 thread);
void show_read(Worker *k, u32 pc, u32 space, u32 thread, u64 address);
/* Whether a store left a value at a byte of shared memory, or of a buffer, that was never set. If so, this read of it is
 * reported, unless it only copies. */
bool report_kept(Warp *w, const Insn *i, u32 lane, u32 space, const Buffer *b, u32 offset);
/* An access outside every buffer, or to a gap between shared variables: faults.c. */
void report_invalid(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags);
/* The variable of a function with a number, or NULL: see decode/numbering.py. */
const LocalVariable *numbered(const Launch *n, const Function *f, u32 number);
/* Whether an access of so many bytes leaves the local variable that its pointer was made from: lifetimes.c. */
bool leaves_variable(const Warp *w, u64 pointer, u32 bytes);

/* Whether each warp has arrived in the present phase of an mbarrier, or waits for it: no more arrivals are to come. */
bool all_have_arrived(const Cta *c, u32 offset);
u32 initialized_at(const Cta *c, u32 offset);
#endif
