/* What watchers report with. */
#ifndef WATCH_FINDINGS_H
#define WATCH_FINDINGS_H
#include "watch/watchers.h"

/* Adds a finding, or its count to that of an equal one. */
void report(Worker *k, Report r);
/* Takes one off the count of the findings of a kind at `pc`, wherever they have no partner. */
void retract(Worker *k, u32 kind, u32 pc, u32 space);
/* An access outside every buffer, or to a gap between shared variables: faults.c. */
void report_invalid(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags);

#endif
