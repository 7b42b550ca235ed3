/* The finer orders of order.c, kept for exact.c: who knows of whose accesses.
 *
 * An epoch is a thread's count of its own releases. What thread t knows of thread u is the
 * newest epoch of u that something ordered before t. Full barriers need no entry: they start a
 * new phase, and everything of earlier phases is known to the whole block. */
#ifndef ORDER_H
#define ORDER_H
#include "core.h"

/* A release that others may acquire: what of the block it covers. */
typedef struct {
  u32 block, thread, phase, epoch;   /* all of earlier phases; the thread's own up to epoch */
  u32 made;                          /* in which phase */
} Event;

/* What the first `at` releases of a log cover together: phase << 32 | epoch. `each`, of marks for
 * a whole block: NULL, or what each thread had fenced in earlier phases. */
typedef struct { u64 upto; u64 *each; u32 at; } Mark;

/* The marks of one thread of a block in a log, or of them ALL; each covers no less than the one
 * before, so that the last one in reach tells what all of them do. */
typedef struct { u32 log, block, thread, n, room; Mark *mark; } Chain;
#define ALL_THREADS 0xFFFFFFFFu

typedef struct { u32 log, upto; } Seen;
typedef struct { Seen *seen; u32 n, room; } Knowledge;

typedef struct {
  u64 key;                           /* where: block or buffer, and offset */
  u32 events;                        /* how many releases */
  Event last;
  Knowledge refs;                    /* what its releasers had acquired */
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
  u32 access, serial;                /* enum Access; which execution of the instruction */
  u32 narrow;                        /* of the block's scope */
} Node;

/* A granule's accesses: of the present phase, and in global memory of other blocks. */
typedef struct { u32 phase, writers, readers, crowd; } Head;

/* The last fence of each thread, phase 0: none; and whether there was any of its kind. */
typedef struct { u32 *phase, *epoch; bool any; } Fences;

typedef struct Order {
  u32 threads, phase;                /* phase: of the clocks */
  u32 *epoch;                        /* [threads] */
  Fences fence, narrow;              /* for other blocks too; those, and of scope .cta */
  u32 *lanes;                        /* [threads][32]: epochs known of the own warp's lanes */
  u32 **far;                         /* [threads]: NULL, or [threads] epochs known of others */
  u32 *gathered[MAX_BARRIERS];       /* what a named barrier's arrivals knew, or NULL */
  Knowledge *known, common;          /* acquired by each thread; by the whole block */
  Head *head;                        /* [shared granules] */
  u32 granules;
  bool any_far, any_known;
} Order;

void *grown(void *p, u32 *room, u32 want, size_t each);
void learn(Worker *k, Knowledge *to, Seen s);
void learn_all(Worker *k, Knowledge *to, const Knowledge *from);
bool covered(const Ledger *g, const Knowledge *known, u32 block, u32 phase, u32 other, u32 epoch);
u32 known_epoch(const Order *o, u32 thread, u32 other);
bool ordered_before(Warp *w, u32 thread, u32 block, u32 phase, u32 other, u32 epoch);
void release_at(Warp *w, u32 lane, u64 key, bool itself);
void acquire_at(Warp *w, u32 lane, u64 key);
u64 sync_key(const Warp *w, const Buffer *b, u32 offset);
Ledger *ledger_of(Warp *w);

#endif
