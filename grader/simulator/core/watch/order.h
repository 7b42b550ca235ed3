/* Happens-before finer than full barriers, of a launch that is `exact`: vector clocks.
 *
 * An epoch is a thread's count of its own releases. Full barriers start a new phase: everything in
 * earlier phases is ordered before every thread of the block. order.c keeps what each thread knows, by
 * barriers, __syncwarp() and fences; release.c what the values in memory carry from thread to thread;
 * races_ordered.c checks accesses with both. The words are those of the PTX manual's memory consistency
 * model. */
#ifndef WATCH_ORDER_H
#define WATCH_ORDER_H
#include "machine/memory.h"
#include "watch/clocks.h"
#include "watch/findings.h"
#include "watch/shadow.h"

/* A fence orders its thread before others of the launch, or of its block alone. */
enum Scope { DEVICE, BLOCK, SCOPES };

/* A point of the causality order: what is ordered before it (`known`), what was before any fence.sc that
 * is before it (`fenced`), and what fences made known to the writers of values that were read before it
 * (`seen`): the next fence.sc synchronizes with those fences. */
typedef struct { Clock *known, *fenced, *seen; } View;

/* What a thread released at a place, and what it read there. */
typedef struct { u64 key; View released[SCOPES], read[SCOPES]; } Visited;

/* A thread's last fence, of which no strong write has released anything yet: most fences are followed by a
 * barrier, and one thread alone writes. `fenced` and `seen` are as they were before the fence; `joined`: a
 * barrier has made it known to all that `sc` concerns. */
typedef struct {
  bool set, sc, joined;
  u32 scope, phase, epoch;
  Members *near;
  Clock *far, *fenced, *seen;
} LastFence;

typedef struct {
  Members *near;                     /* known of the own block's present phase */
  Clock *far;                        /* known of other blocks */
  Clock *fenced[SCOPES], *seen[SCOPES];
  LastFence last;
  View fence[SCOPES];                /* at the fence before: what strong writes release from then on */
  View read[SCOPES];                 /* what the next fence acquires */
  View ticket;                       /* what the next full barrier acquires: see TICKET */
  Visited *visited; u32 visits, visit_room; /* by a hash of the key, 0: none */
  u64 observed;                      /* Carried.change of what it observed last */
} Clocks;

/* The joined clocks of a barrier's arrivals. `fences`: their own part of what `fenced` gets. */
typedef struct { Members *near, *fences[SCOPES]; Clock *far, *fenced[SCOPES], *seen[SCOPES]; } Gathered;

/* What the value of a place carries: by the releases of any block, and by those of scope .cta of the
 * blocks in `own`, to the block itself. */
typedef struct { View released; Clock *fenced; } Load;

/* What the arrivals of the completed phases of the mbarrier at `offset` carry, as Carried has it. */
typedef struct { u32 offset; Load load, own; } Phases;

typedef struct Order {
  u32 threads;
  Shape shape;
  u32 *epoch;                        /* [warps of LANES] */
  Clocks *clocks;                    /* [threads] */
  Gathered gathered[MAX_BARRIERS];
  struct Head *head;                 /* [shared granules] */
  u32 granules, used_from, used_to;  /* between the last two: those whose heads the block has changed */
  Phases *phases; u32 mbarriers, phase_room;
  bool far;                          /* whether a thread knows more than `near` */
  bool visited;                      /* whether a thread has a Visited */
  View sc;                           /* of all fence.sc of the block, with old values: see fence_in_turn */
} Order;

typedef struct { u32 block; Load load; } Own;
typedef struct {
  u32 refs, next;                    /* granules with this value; in the list of free ones */
  u32 block, size, offset;           /* of the write */
  u64 change;                        /* a number of its own for each write */
  bool narrow;
  Load load;
  Own *own; u32 owns;
} Carried;

/* The strong writes that an access observed, by their numbers: from `first` to `last`. */
typedef struct { u32 first, last; } Shown;

/* Of a launch that needs them; it runs on one thread. */
typedef struct Ledger {
  Joins joins;
  Shown *shown; u32 shows, show_room; /* what the accesses observed that precede the present one */
  Carried *carried; u32 values, value_room, value_free;
  u64 changes;
  struct Node *node; u32 nodes, node_room, node_free;
  View sc;                           /* of all fence.sc of the launch */
} Ledger;

/* Lanes of a warp that accessed a granule in one epoch: a cache line, as a launch may have a million. */
typedef struct Node {
  u32 block, phase, warp, lanes, epoch, pc, next;
  u32 serial;                        /* the step that executed the instruction */
  u32 version, chain;                /* the value that it wrote or read, and Head.chain then */
  u32 earlier;                       /* list of strong writes whose place this one has: see hide() */
  u32 superseded;                    /* lanes that updated the place after this read of it */
  u32 followed;                      /* by which value of the same thread, where known */
  u32 at;                            /* offset of the element */
  u16 size; u8 flag, access;         /* bytes of the element; Insn.flag; enum Access */
  u8 covered, gone;                  /* the present access covers some lanes; all */
  bool raced;                        /* one of the accesses raced with one before it */
  u8 took;                           /* whose places it has that it may have observed alone: see took_from() */
} Node;
_Static_assert(sizeof(Node) == 64, "a node is a cache line");

/* Node.took: of another lane, warp or block. */
enum { TOOK_LANE = 1, TOOK_WARP = 2, TOOK_BLOCK = 4 };

/* An access takes the place of another one: whose places it has then, unless a full barrier, or in the warp
 * another epoch, orders them all before it. */
static inline u8 took_from(const Node *now, const Node *old) {
  bool earlier = old->phase < now->phase;
  if (old->block != now->block) return TOOK_BLOCK;
  if (old->warp != now->warp) return (old->took & TOOK_BLOCK) | (earlier ? 0 : TOOK_WARP);
  if (earlier) return old->took & TOOK_BLOCK;
  if (old->epoch != now->epoch) return old->took & (TOOK_BLOCK | TOOK_WARP);
  return old->took | (old->lanes & ~now->lanes ? TOOK_LANE : 0);
}

/* A granule's accesses: those of the present phase and, in global memory, of other blocks. `crowd`: read
 * by several blocks, whose reads are not kept. Writes are numbered by `version`; those from `chain` on are
 * read-modify-writes of which each observed the one before. `room`: the reads that may be added before they
 * are compared. */
typedef struct Head { u32 phase, writers, readers, crowd, carried, version, chain, room; } Head;
_Static_assert(sizeof(Head) == sizeof(Cell), "the heads of global memory are in its cells");

/* READS and WRITES are plain; UPDATES (read-modify-writes), STORES and PEEKS (reads) are strong. */
enum Access { READS, WRITES, UPDATES, STORES, PEEKS };

static inline Order *order_of(const Cta *c) { return c->state[order_slot]; }
static inline Ledger *ledger_of(const Worker *k) { return k->state[order_slot]; }
static inline u32 first_scope(const Warp *w) { return w->launch->sync & HAS_BLOCK_SCOPE ? BLOCK : DEVICE; }

/* order.c */
void *grown(void *p, u32 *room, u32 want, size_t each);
bool more_nodes(Ledger *g);
void join_view(Worker *k, Shape s, View *to, const View *from);
void drop_view(Shape s, View *v);
void learn(Warp *w, u32 thread, const View *v);
View release_now(Warp *w, u32 thread);
void settle_fence(Warp *w, u32 thread);

/* Whether an access of thread `other` of `block` is ordered before the present one of `thread`. */
static inline bool ordered_before(const Warp *w, u32 thread, u32 block, u32 phase, u32 other, u32 epoch) {
  const Cta *c = w->cta;
  const Order *o = order_of(c);
  if (block == c->number &&
      (phase < phase_of(c) || other == thread || epoch_in(o->clocks[thread].near, other) >= epoch))
    return true;
  return o->far && knows(o->shape, o->clocks[thread].far, block, phase, other, epoch);
}

/* Marks granules of shared memory whose heads change: the next block clears these alone, since a small
 * block may use few of them. */
static inline void mark_used(Order *o, u32 first, u32 granules) {
  if (first < o->used_from) o->used_from = first;
  if (first + granules > o->used_to) o->used_to = first + granules;
}

/* races_simple.c. Each takes lanes in their order up to one that is not simple; what is left. */
u32 take_reads(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes);
u32 take_writes(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes);
u32 take_updates(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes);

/* A node, to be filled: its number, or 0 without memory. */
static inline u32 new_node(Worker *k) {
  Ledger *g = ledger_of(k);
  u32 at = g->node_free;
  if (at) {
    g->node_free = g->node[at - 1].next;
    return at;
  }
  if (g->nodes == g->node_room && !more_nodes(g)) { out_of_memory(k); return 0; }
  return ++g->nodes;
}

static inline u32 take_node(Ledger *g, u32 *link) {
  u32 at = *link;
  *link = g->node[at - 1].next;
  return at;
}
static inline void put_node(Ledger *g, u32 *list, u32 at) {
  g->node[at - 1].next = *list;
  *list = at;
}

static inline void free_node(Ledger *g, u32 *link) {
  u32 at = take_node(g, link);
  while (g->node[at - 1].earlier) put_node(g, &g->node_free, take_node(g, &g->node[at - 1].earlier));
  put_node(g, &g->node_free, at);
}

static inline void free_list(Ledger *g, u32 *list) {
  while (*list) free_node(g, list);
}

/* The head of a granule of shared memory, without the accesses of earlier phases. */
static inline Head *head_in_phase(Ledger *ledger, Order *o, u32 granule, u32 phase) {
  Head *h = &o->head[granule];
  if (h->phase == phase) return h;
  free_list(ledger, &h->writers);
  free_list(ledger, &h->readers);
  h->phase = phase;
  mark_used(o, granule, 1);
  return h;
}

/* release.c. TICKET, beside the bits of Insn.flag: an atomic that draws a ticket. CUDA's own example of a
 * last block that reads what all have written draws one, and has a full barrier but no fence after it.
 * PASSED_ON: only read-modify-writes change the place, as an mbarrier. */
enum { TICKET = 1 << 16, PASSED_ON = 1 << 17 };
#define ALL_PLACES UINT32_MAX
typedef struct { Buffer *buffer; Head *head; u32 granules, offset, size; } Place;
void observe(Warp *w, u32 lane, const Place *p, u32 flag);
void carry(Warp *w, u32 lane, const Place *p, u32 flag, bool updates);
void complete_phase(Warp *w, const Place *p);
void observe_phase(Warp *w, u32 lane, const Place *p, u32 flag);
void forget_phases(Cta *c, u32 offset);
void forget(Worker *k, Head *h);
void forget_visits(Shape s, Clocks *t);
void discard_values(Worker *k);

#endif
