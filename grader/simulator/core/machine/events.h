/* The events that the machine announces to watchers: the interface of machine/ and watch/.
 *
 * The machine calls `announce_EVENT(...)` and names no watcher. A watcher is a constant table of
 * functions, one for each event that it receives. At the start of a launch the machine queries each
 * watcher and makes a list of functions for each event, so that an announcement costs one indirect
 * call for each listener, and nothing without listeners.
 *
 * w->mask holds the lanes that an event is about. Reads and writes are announced before memory
 * changes. `offset` has an entry for every lane (that of an inactive lane repeats an active one)
 * and counts from the start of the region. */
#ifndef MACHINE_EVENTS_H
#define MACHINE_EVENTS_H
#include "machine/warp.h"

/* EVENT(name, worker, parameters, arguments) */
#define EVENTS(EVENT)                                                                              \
  /* Start and end of a worker, a launch, a block. A block is restarted for each number. */        \
  EVENT(worker_started, k, (Worker *k), (k))                                                       \
  EVENT(launch_ended, all, (Launch *n, Worker *all, u32 workers), (n, all, workers))              \
  EVENT(worker_ended, k, (Worker *k), (k))                                                         \
  EVENT(block_created, c->worker, (Cta *c), (c))                                                   \
  EVENT(block_started, c->worker, (Cta *c), (c))                                                   \
  EVENT(block_ended, c->worker, (Cta *c), (c))                                                     \
  EVENT(block_destroyed, c->worker, (Cta *c), (c))                                                 \
  /* `lanes` call a function whose stack frame is the bytes from `local`. */                       \
  EVENT(frame_pushed, w->worker, (Warp *w, u32 local, u32 bytes, u32 lanes), (w, local, bytes, lanes)) \
  /* Memory accesses of all state spaces; atom and red are `atomic` alone. */                      \
  EVENT(read, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes),  \
        (w, i, r, offset, bytes))                                                                  \
  /* A load of which the program uses some bytes only: the request, and then each run of used bytes. */ \
  EVENT(request, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  EVENT(read_part, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  /* A strong load has its values in registers; the watcher of old values (watch/old_values.c) replaces some. */ \
  EVENT(loaded, w->worker, (Warp *w, const Insn *i), (w, i))                                       \
  EVENT(write, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  EVENT(atomic, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  /* A compare-and-swap of words for objects that are parts of them: the request, and what each lane does to its \
   * object, by the instruction ptx_st where it stores. */                                         \
  EVENT(atomic_request, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  EVENT(atomic_part, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  /* One lane's atomic has changed `old` to `now`. */                                              \
  EVENT(updated, w->worker, (Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now), \
        (w, i, r, lane, offset, old, now))                                                         \
  /* Accesses of words in rows, by a full warp, in shared or global memory. When a watcher gets    \
   * reads but not rows, reads are never announced as rows; likewise for writes. */                \
  EVENT(read_rows, w->worker, (Warp *w, const Insn *i, const Region *g, const Rows *r), (w, i, g, r)) \
  EVENT(write_rows, w->worker, (Warp *w, const Insn *i, const Region *g, const Rows *r), (w, i, g, r)) \
  /* One lane's access outside every buffer, or misaligned; `flags` as in a Report. */             \
  EVENT(invalid, w->worker, (Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags), \
        (w, i, lane, address, bytes, flags))                                                       \
  /* One lane cannot use a texture or surface object, or is outside it: enum ImageFault, the object's number,   \
   * and what is wrong: the handle, the coordinates (y << 32 | x), or the layer. */                \
  EVENT(image_fault, w->worker, (Warp *w, const Insn *i, u32 lane, u32 number, u32 fault, u64 at),  \
        (w, i, lane, number, fault, at))                                                           \
  /* One lane's printf: it has read a text of so many bytes, with its end; an argument is not what its conversion  \
   * reads, see `compare` of print.c. */                                                           \
  EVENT(text, w->worker, (Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes), (w, i, lane, address, bytes)) \
  EVENT(misprint, w->worker, (Warp *w, const Insn *i, u32 lane, u32 what), (w, i, lane, what))      \
  /* malloc and free. A listener without memory for its own data marks the buffer as dead. */      \
  EVENT(allocated, w->worker, (Warp *w, Buffer *b), (w, b))                                        \
  EVENT(freeing, w->worker, (Warp *w, const Insn *i, u32 lane, Buffer *b), (w, i, lane, b))         \
  EVENT(freed, w->worker, (Warp *w, Buffer *b), (w, b))                                            \
  /* cp.async: reads global memory, starts, writes shared memory; `tracked`: a lane's copy is      \
   * about to complete, and visible only to threads that waited for the mbarrier at `barrier`. */  \
  EVENT(copy_read, w->worker, (Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes), \
        (w, i, r, offset, bytes))                                                                  \
  EVENT(copy_started, w->worker, (Warp *w, const Insn *i, const u32 *offset), (w, i, offset))      \
  EVENT(copy_completed, w->worker, (Warp *w, const Insn *i, const u32 *offset), (w, i, offset))    \
  EVENT(copy_tracked, w->worker, (Warp *w, const Insn *i, u32 lane, u32 offset, u32 barrier),      \
        (w, i, lane, offset, barrier))                                                             \
  /* A row of a bulk copy from shared memory, of 16 bytes; cp.async.bulk.commit_group, or wait_group, which leaves the \
   * newest groups; fence.proxy.async. */                                                          \
  EVENT(copied_out, w->worker, (Warp *w, const Insn *i, const u32 *from, const Region *r, const u32 *offset), \
        (w, i, from, r, offset))                                                                   \
  EVENT(bulk_grouped, w->worker, (Warp *w, bool commits, u32 left), (w, commits, left))            \
  EVENT(proxy_fenced, w->worker, (Warp *w, u32 pc), (w, pc))                                       \
  /* cp.async.wait_group, which leaves the newest groups, and wait_all, for copies that are in none. */ \
  EVENT(copies_awaited, w->worker, (Warp *w, u32 left, bool uncommitted), (w, left, uncommitted))  \
  /* mbarrier: init and inval; arrive, a lane at a time; the end of a phase by the last arrival; test_wait  \
   * and try_wait; one lane's wait that succeeded. */                                              \
  EVENT(mbarrier_set, w->worker, (Warp *w, const Insn *i, const u32 *offset), (w, i, offset))      \
  EVENT(mbarrier_arrived, w->worker, (Warp *w, const Insn *i, const u32 *offset), (w, i, offset))  \
  EVENT(mbarrier_tested, w->worker, (Warp *w, const Insn *i, const u32 *offset), (w, i, offset))   \
  EVENT(mbarrier_completed, w->worker, (Warp *w, u32 offset), (w, offset))                         \
  EVENT(mbarrier_passed, w->worker, (Warp *w, const Insn *i, u32 lane, u32 offset), (w, i, lane, offset)) \
  /* Barriers: bar.arrive by some lanes, which name a count; all expected threads wait, and are    \
   * released next (`full`: all threads of the block wait); no warp can go on. */                  \
  EVENT(barrier_arrived, w->worker, (Warp *w, u32 pc, u32 id, u32 mask, u32 count), (w, pc, id, mask, count)) \
  EVENT(barrier_completed, c->worker, (Cta *c, u32 id, bool full), (c, id, full))                  \
  EVENT(deadlock, c->worker, (Cta *c), (c))                                                        \
  /* Within a warp: bar.warp.sync; lanes of a member mask that have exited; lanes outside their    \
   * own mask; nothing but giving up a wait lets the block go on. */                               \
  EVENT(warp_synced, w->worker, (Warp *w, u32 mask), (w, mask))                                    \
  EVENT(members_exited, w->worker, (Warp *w, u32 pc, u32 lanes), (w, pc, lanes))                   \
  EVENT(outside_mask, w->worker, (Warp *w, u32 pc, u32 lanes, u32 members), (w, pc, lanes, members)) \
  /* A lane reads the register of a lane that does not execute the instruction, or is not in the mask. */ \
  EVENT(lane_missing, w->worker, (Warp *w, u32 pc, u32 lane, u32 from), (w, pc, lane, from))        \
  /* An instruction of the warp is undefined: enum WarpMisuse, and the value that a lane gives it. */  \
  EVENT(misused, w->worker, (Warp *w, u32 pc, u32 lane, u32 why, u32 value), (w, pc, lane, why, value)) \
  EVENT(warp_stuck, w->worker, (Warp *w), (w))                                                     \
  /* membar and fence of the active lanes; `flag`: SCOPE_CTA, FENCE_SC. */                         \
  EVENT(fence, w->worker, (Warp *w, u32 flag), (w, flag))                                          \
  /* What ends the launch: enum Kind; a failed assertion and the address of its text. */           \
  EVENT(fault, w->worker, (Warp *w, u32 kind, u32 pc, u32 extra), (w, kind, pc, extra))            \
  EVENT(assertion, w->worker, (Warp *w, const Insn *i, u64 text), (w, i, text))

#define EVENT(NAME, WORKER, PARAMETERS, ARGUMENTS) typedef void On_##NAME PARAMETERS;
EVENTS(EVENT)
#undef EVENT

/* Which blocks of a launch by proof (proof.h) a watcher receives events of. FULL_BLOCKS is for one that finds
 * nothing that differs in blocks with the same signature. */
enum Blocks { ALL_BLOCKS, FULL_BLOCKS, REDUCED_BLOCKS };

/* A watcher; the function of an event that it does not receive is NULL. */
typedef struct {
  bool (*listens)(const Launch *n); /* NULL: to every launch */
  enum Blocks blocks;
#define EVENT(NAME, WORKER, PARAMETERS, ARGUMENTS) On_##NAME *NAME;
  EVENTS(EVENT)
#undef EVENT
} Watcher;

/* All watchers, in the order in which they receive an event, then NULL: watch/watchers.c. */
extern const Watcher *const watchers[];

/* The listeners of a launch by event: NULL ends each list. */
typedef struct Listeners {
  bool reads_by_rows, writes_by_rows;
#define EVENT(NAME, WORKER, PARAMETERS, ARGUMENTS) On_##NAME *NAME[MAX_WATCHERS + 1];
  EVENTS(EVENT)
#undef EVENT
} Listeners;

#define EVENT(NAME, WORKER, PARAMETERS, ARGUMENTS)                                 \
  static inline void announce_##NAME PARAMETERS {                                  \
    for (On_##NAME *const *f = (WORKER)->on->NAME; *f; f++) (*f)ARGUMENTS;         \
  }
EVENTS(EVENT)
#undef EVENT

#endif
