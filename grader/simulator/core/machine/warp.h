/* The state of a launch in progress: a worker is one thread of the host, which runs blocks; a
 * block (Cta) has warps; a warp has frames, one for each function that its lanes are in. */
#ifndef MACHINE_WARP_H
#define MACHINE_WARP_H
#include "machine/launch.h"

#define NO_FRAME 0xFFFFFFFFu
enum { MAX_WAITS = 64, MAX_FRAMES = 512, MAX_WATCHERS = 21 };

typedef struct Worker Worker;
typedef struct Cta Cta;
typedef struct { struct Pointer *pointer; u32 room, used; } Pointers; /* pointers.c */
typedef struct Rows Rows;       /* rows.h */

typedef struct {
  u32 function, parent, return_block;
  u32 lanes, returned;          /* in it and not returned; returned and waiting for the others */
  u32 entered;                  /* all that ever came to it */
  u32 pending_blocks;           /* how many basic blocks have a non-empty mask */
  u32 registers, masks, bits;   /* offsets in the warp's arena */
  u32 local, params;            /* offsets in a lane's stack and parameter area */
  u32 call;
} Frame;

/* Lanes that wait: at a barrier, or for the other lanes of a member mask. `leaves`: among those with whom the
 * barrier is complete; others may wait at it for its next time. */
typedef struct { u32 mask, frame, block, pc, id, kind, want, membership, basic, leaves; } Wait;
static inline bool leaves_barrier(const Wait *x, u32 id) { return !x->membership && x->id == id && x->leaves; }

/* Watches the lanes of one loop, from one visit of its header to another: see endless.c. */
typedef struct {
  u64 at, pause;                /* the number of the warp's steps from which to look; until then */
  u32 loop, frame, attempts;    /* its number + 1, or 0 */
  u32 lanes, seen, visits;      /* lanes that stayed in the loop; that passed its header; how often */
  u8 *state; u32 room;          /* what the loop's state was at the header, lane by lane */
  u32 endless, pc;              /* lanes that never leave a loop, and do not run; its branch back */
} LoopWatch;

/* Whether a warp repeats itself: see endless.c. Its state at one turn's end, and `stamp` then. */
typedef struct { u64 change; u8 *state; u32 room, looks, ran; bool kept, repeats; } Repetition;

/* Some lanes' last look at memory, and where a lane that sleeps looked: see polls.c. */
typedef struct { const Insn *insn; u64 first, did, change, all; u32 lanes, quiet, clock_reads; bool polls; } Look;
typedef struct { u64 place, seen; u32 bytes, space; } Sleep;
enum { LOOKS_KEPT = 4, MOST_LATE = 8, KNOWN_ROWS = 4 };

/* Which memory an address is in: see memory.h. */
typedef struct {
  u32 space;     /* enum Space; GENERIC: no memory */
  u64 base, size;
  u8 *data;
  Buffer *buffer; /* of GLOBAL and CONST */
} Region;

/* The rows that the addresses in a register are, without displacement, as offsets in their region: for the loads of one
 * basic block that use it unchanged (`of`: see _number_repeated of decode/peephole.py), when the warp had so many steps.
 * `most`: the last offset of a row. No lanes: they are not rows. Unwatched: in shared memory of a reduced block. */
typedef struct { Region region; u64 first[4], steps, most; u32 of, lanes, step; bool unwatched; } KnownRows;

struct Warp {
  u8 *bank[4];                  /* registers, constants, special registers, `part` */
  u32 mask;                     /* active lanes */
  u32 lane[LANES] __attribute__((aligned(32))); /* 0 or FULL for each lane */
  Worker *worker;
  Cta *cta;
  const Launch *launch;
  u32 index, base;              /* number in the block; its first thread */
  u64 owner;                    /* what cvta.local adds for lane 0: see LOCAL_MARK */
  u32 valid, exited;            /* lanes that exist; lanes that ended */
  u32 top, frames, waits, turns, picks;
  u64 steps;
  u64 turn_began, turn_ends;    /* steps at the start of its turn, and at its end */
  u64 look_again;               /* steps at which a run of basic blocks ends */
  u64 did;                      /* changes of memory and arrivals at barriers of its own */
  u32 asleep, resting;          /* lanes that run only where no others can; those without which the warp has no turn */
  u32 held;                     /* all lanes but the one whose turn it is, where lanes run one after the other */
  u64 slept, clock, clock_steps; /* see instructions/clock.c: cycles in this turn; the last read */
  u32 clock_pc, clock_reads;
  u64 clock_change; u32 quiet_reads; /* `changes` at the last read, and the reads since it was another */
  u64 waited_change; u32 waited; /* `changes` at the last look that waits, and such looks since */
  u64 asleep_change; u32 skips; /* `changes` when they were known to sleep on; turns that they did not have */
  u64 hurried;                  /* cycles that passed while it kept its turn: see instructions/clock.c */
  u32 patience;                 /* looks for which it did not sleep, though others would */
  bool looks_on;                /* it keeps its turn until its loop gives up: see polls.c */
  const Insn *strong; u64 strong_at, strong_steps; /* the last strong load or atomic, the address of a lane, and when it was */
  u32 ran[LANES] __attribute__((aligned(32))); /* instructions of each lane, with Launch.work */
  Frame frame[MAX_FRAMES];
  Wait wait[MAX_WAITS];
  u8 *arena; u32 arena_used, arena_room;
  u8 *local; u32 local_room;    /* [32][local_room] */
  u8 *params; u32 params_room;  /* of all lanes: see params.h */
  /* offset + 1 of the mbarrier that lanes wait for, if the last wait of any, or of each, has not succeeded */
  u32 tested, awaits[LANES];
  struct AsyncCopy *copy;       /* copies in flight: see async_copy.c */
  u32 copies, copy_room, groups[LANES];
  LoopWatch watch;
  Repetition repetition;
  u64 signature;                /* a hash of its branches: see proof.h */
  u8 special[24 * 128] __attribute__((aligned(32)));
  u32 part[2][LANES] __attribute__((aligned(32))); /* operands of an access to a part of a word: see part.c */
  KnownRows known[KNOWN_ROWS];
  Look look[LOOKS_KEPT], *last_look; u32 looks; /* see polls.c */
  Sleep sleep[LANES];
};

struct Cta {                    /* one block in progress */
  Worker *worker;
  u32 number, at[3];
  u32 representative;           /* in a launch by proof: its number among them + 1, or 0 */
  bool reduced;                 /* see proof.h */
  u32 warps, nthreads;
  u64 steps, barriers;          /* steps run, barriers completed */
  u64 time, clock;              /* simulated cycles at the start of a round; the last that was read */
  u64 stop;                     /* Stillness.stops when it was read */
  bool dozing;                  /* no warp that can run has a turn: see polls.c */
  bool timed;                   /* a warp read a clock, slept or waited in this round */
  u64 changes, passes;          /* of its shared memory; barriers that were completed, and arrivals at them */
  u64 seen, seen_outside, idle_from; u32 idle, looks, looks_outside; /* see idles in block.c */
  Repetition all; u64 looked;   /* of all its warps and its shared memory at once: see endless.c */
  u32 late[MOST_LATE];          /* offsets + 1 of mbarriers whose phase a copy ended, and no thread has observed */
  u32 arrived[MAX_BARRIERS];    /* threads that came by bar.arrive */
  u8 *shared;
  Warp *warp;                   /* [MAX_WARPS] */
  void *state[MAX_WATCHERS];    /* of each watcher, or NULL */
};

/* How long nothing changed that others may notice, and how time stands still then: see endless.c. */
typedef struct {
  u64 change;                   /* Worker.changes at the last look */
  u32 quiet, next, turns;       /* turns since then; the turn that stops time; turns since time was stopped */
  u64 reads, reads_before;      /* of clocks while time passes; those before nothing changed any more */
  u64 stops, leapt;             /* how often time was stopped; the cycles of its leaps */
  u32 leaps;
  u32 in_vain;                  /* how often blocks were looked at until something changed */
  bool stopped;
} Stillness;

/* What a compare-and-swap expects, and where; whether something else has been there; how often it was there again. */
typedef struct { u64 place, value; u32 bytes, space, times; bool changed; } Expected;

struct Worker {
  const Launch *launch;
  struct Team *team;
  const struct Listeners *on;   /* events.h */
  u64 *visits, *visit_lanes;    /* by basic block: times and lanes */
  u64 *guarded;                 /* by pc, of instructions under a guard: lanes; when counting */
  u64 steps;
  u64 changes;                  /* what threads did that other blocks may notice */
  Stillness still;
  u64 timer;                    /* the last global time that was read */
  u64 heap_used; u32 buffer_room; /* heap.c */
  f64 deadline;                 /* on the clock of now() */
  u32 looks; bool late;         /* see is_late */
  u32 observed;                 /* enum Observed */
  bool stop, no_memory;         /* anyone may set them: the launch ends */
  Pointers pointers;            /* to shared memory, in global memory */
  struct Residents *residents;  /* launch.c: the blocks that run in turn, or NULL */
  const Warp *paused;           /* the warp that pauses: see run_others */
  bool has_paused, pause_ends;  /* whether one has; whether a short pause is over */
  u32 skipped_pauses;           /* how often warps came to where one pauses: see Launch.pause_skips */
  bool has_paused_again;        /* behind Launch.pause_behind */
  u64 paused_at;                /* changes of memory when it began */
  Expected expected;            /* what a swap expects before which it pauses */
  u32 long_looks;               /* looks of warps that kept their turns: see polls.c */
  /* the warp of which a load has, or might have, given an old value, and that has not paused since */
  const Warp *gave_old;
  void *state[MAX_WATCHERS];    /* of each watcher, or NULL */
};

#define SRC(T, r) ((const T *)(w->bank[(r) & 3] + ((r) & ~3u)))
#define DST(T, r) ((T *)(w->bank[(r) & 3] + ((r) & ~3u)))
static inline bool is_constant(u32 operand) { return (operand & 3) == 1; }

/* Every lane in turn; lanes are independent of each other. */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#endif

/* Of functions on the way of every memory access: the frequent path inside its caller, the rare one
 * outside, so that the frequent one saves few registers. */
#define INLINE static inline __attribute__((always_inline))
#define OUTLINE static __attribute__((noinline))

/* Addresses of local variables: their owner; whether it is one, or is one at an index out of bounds, before
 * them too; the address without its owner and the variable's number; that number. */
static inline u64 owner_of(const Warp *w, u32 lane) { return w->owner + ((u64)lane << OWNER_SHIFT); }
static inline bool is_near_local(u64 plain) { return plain + WINDOW - LOCAL_BASE < PARAM_BASE - LOCAL_BASE; }
static inline u64 without_owner(u64 at) {
  u64 plain = at & ((1ull << VARIABLE_SHIFT) - 1);
  return at & LOCAL_MARK && is_near_local(plain) ? plain : at;
}
static inline u32 variable_of(u64 at) {
  return without_owner(at) == at ? 0 : (u32)((at & VARIABLE_BITS) >> VARIABLE_SHIFT);
}
static inline void note_strong(Warp *w, const Insn *i, u64 at) {
  w->strong = i;
  w->strong_at = at;
  w->strong_steps = w->steps;
  w->cta->looks++;
  w->cta->looks_outside += !w->launch->may_wait || !(i->space == SHARED || at - SHARED_BASE < WINDOW);
}
static inline bool is_local(u64 at) { return without_owner(at) - LOCAL_BASE < WINDOW; }

/* What threads did that this warp may notice, but for barriers. */
static inline u64 changes_for(const Warp *w) { return w->worker->changes + w->cta->changes; }
static inline void count_change(Warp *w, u32 space) {
  if (space == SHARED) w->cta->changes++;
  else if (space != LOCAL) w->worker->changes++;
  w->did++;
}

static inline u32 thread_of(const Warp *w, u32 lane) { return w->base + lane; }
static inline u32 first_lane(u32 mask) { return (u32)__builtin_ctz(mask); }
static inline u32 live_lanes(const Warp *w) { return w->valid & ~w->exited; }
static inline void out_of_memory(Worker *k) { k->stop = k->no_memory = true; }

#endif
