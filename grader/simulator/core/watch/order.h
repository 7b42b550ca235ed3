/* Happens-before finer than full barriers, of a launch that is `exact`: vector clocks.
 *
 * An epoch is a thread's count of its own releases. The clock of thread t has, for thread u, the newest
 * epoch of u that is ordered before t. Full barriers need no entry: they start a new phase, and
 * everything in earlier phases is ordered before every thread of the block. order.c keeps the clocks,
 * release.c the releases that fences and atomics make, races_ordered.c checks accesses with them. */
#ifndef WATCH_ORDER_H
#define WATCH_ORDER_H
#include "machine/memory.h"
#include "watch/findings.h"
#include "watch/shadow.h"

/* A release that other threads may acquire, and what of the block it covers. */
typedef struct {
  u32 block, thread, phase, epoch;   /* all of earlier phases; the thread's own up to epoch */
  u32 made;                          /* in which phase */
} Event;

/* What the first `at` releases of a log cover together: phase << 32 | epoch. `each`, of marks for
 * a whole block: NULL, or what each thread had fenced in earlier phases. */
typedef struct { u64 upto; u64 *each; u32 at; } Mark;

/* The marks of one thread of a block in a log, or of ALL_THREADS; each covers no less than the one
 * before, so that the last one among the acquired releases covers what all of them do. */
typedef struct { u32 log, block, thread, n, room; Mark *mark; } Chain;
#define ALL_THREADS 0xFFFFFFFFu

/* The first `upto` releases of a log are acquired. */
typedef struct { u32 log, upto; } Position;
typedef struct { Position *position; u32 n, room; } Acquired;

typedef struct {
  u64 key;                           /* where: block or buffer, and offset */
  u32 events;                        /* how many releases */
  Event last;
  Acquired refs;                    /* what its releasers had acquired */
} Log;

/* All releases of a launch; launches that need them run on one thread. */
typedef struct Ledger {
  bool released;                     /* anything yet */
  Log *log; u32 logs, log_room;
  u32 *by_key, by_key_room;          /* hash of key -> log number + 1 */
  Chain *chain; u32 chains, chain_room;
  u32 *by_chain, by_chain_room;      /* hash of log, block, thread -> chain number + 1 */
  struct Node *node; u32 nodes, node_room, node_free;
  bool failed;
} Ledger;

/* One or several lanes of a warp that accessed a granule in one epoch. */
typedef struct Node {
  u32 block, phase, warp, lanes, epoch, pc, next;
  u32 access, serial;                /* enum Access; the step that executed the instruction */
  u32 narrow;                        /* of the block's scope */
} Node;

/* A granule's accesses: those of the present phase and, in global memory, of other blocks. `crowd`: read
 * by several blocks, whose reads are not kept. */
typedef struct { u32 phase, writers, readers, crowd; } Head;

/* The last fence of each thread (phase 0: none), and whether there was any. */
typedef struct { u32 *phase, *epoch; bool any; } Fences;

typedef struct Order {
  u32 threads, phase;                /* phase: of the clocks */
  u32 *epoch;                        /* [threads] */
  Fences fence, narrow;              /* of wider scope than .cta; of any scope */
  u32 *lanes;                        /* [threads][32]: clock of the own warp's lanes */
  u32 **far;                         /* [threads]: NULL, or [threads]: clock of all threads */
  u32 *gathered[MAX_BARRIERS];       /* joined clocks of a named barrier's arrivals, or NULL */
  Acquired *acquired, common;        /* by each thread; by the whole block */
  Head *head;                        /* [shared granules] */
  u32 granules;
  bool any_far, any_acquired;
} Order;

/* READS and WRITES are plain; UPDATES (atomic or strong writes) and PEEKS (strong reads) do not race with
 * each other. */
enum Access { READS, WRITES, UPDATES, PEEKS };

static inline Order *order_of(const Cta *c) { return c->state[order_slot]; }
static inline Ledger *ledger_of(const Worker *k) { return k->state[order_slot]; }

/* order.c */
void *grown(void *p, u32 *room, u32 want, size_t each);
void acquire(Worker *k, Acquired *to, Position s);
void acquire_all(Worker *k, Acquired *to, const Acquired *from);
bool ordered_before(Warp *w, u32 thread, u32 block, u32 phase, u32 other, u32 epoch);

/* release.c */
bool covered(const Ledger *g, const Acquired *acquired, u32 block, u32 phase, u32 other, u32 epoch);
void release_at(Warp *w, u32 lane, u64 key, bool itself);
void acquire_at(Warp *w, u32 lane, u64 key);
u64 sync_key(const Warp *w, const Buffer *b, u32 offset);

#endif
