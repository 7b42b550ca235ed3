/* All watchers, one line each: a new watcher is a new file that defines NAME_watcher, and a line here.
 *
 * They hear of each event in this order. A watcher may keep data for each worker and each block, in
 * `state[NAME_slot]`; it makes it at worker_started or block_created, and frees it at worker_ended or
 * block_destroyed, where it is NULL if it was never made. */
#ifndef WATCH_WATCHERS_H
#define WATCH_WATCHERS_H
#include "machine/events.h"

#define WATCHERS(WATCHER)                                                          \
  WATCHER(findings)                                                                \
  WATCHER(faults)                                                                  \
  WATCHER(barriers)                                                                \
  WATCHER(shadow)         /* before order: a barrier starts a new phase of clocks */ \
  WATCHER(lifetimes)                                                               \
  WATCHER(copies)                                                                  \
  WATCHER(mbarriers)                                                               \
  WATCHER(races)                                                                   \
  WATCHER(races_reduced)                                                           \
  WATCHER(order)                                                                   \
  WATCHER(old_values)     /* before races_ordered: not yet of what a load observes */  \
  WATCHER(races_ordered)                                                           \
  WATCHER(definedness)    /* behind races: what is written without a value counts as never written */ \
  WATCHER(updates)                                                                 \
  WATCHER(frees)                                                                   \
  WATCHER(noncoherent)                                                             \
  WATCHER(trace_reads)                                                             \
  WATCHER(trace_writes)                                                            \
  WATCHER(trace_sync)                                                              \
  WATCHER(counters)                                                                \
  WATCHER(work)

#define WATCHER(NAME) NAME##_slot,
enum { WATCHERS(WATCHER) WATCHERS_IN_ALL };
#undef WATCHER

#define WATCHER(NAME) extern const Watcher NAME##_watcher;
WATCHERS(WATCHER)
#undef WATCHER

#endif
