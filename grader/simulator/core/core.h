/* The machine that executes decoded PTX: one warp = 32 lanes in lock step.
 *
 * A register is a vector of 32 lanes (b16: 64 bytes, b32: 128, b64: 256); a predicate is one
 * 32-bit lane mask. An operand is a byte offset (a multiple of 4) whose two low bits name the
 * bank it lies in: the frame's registers, the launch's constants, the warp's special registers.
 * Instructions are functions found by name; none of them knows a watcher: memory.c and control.c
 * announce what happens, and race.c, barrier.c and counter.c watch.
 */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

enum { LANES = 32, MAX_BLOCK_THREADS = 1024, MAX_WARPS = 32, MAX_BARRIERS = 16 };
#define FULL 0xFFFFFFFFu

/* Generic addresses. A global allocation owns a slot of 64 GiB and lies in its middle, so an
 * address that strays from it is still known to be its. */
#define SHARED_BASE 0x020000000000ull
#define LOCAL_BASE 0x030000000000ull
#define PARAM_BASE 0x040000000000ull
#define WINDOW (1ull << 32)
#define GLOBAL_BASE 0x100000000000ull
#define SLOT_BITS 36
#define SLOT_MIDDLE (1ull << 35)

enum Space { GENERIC, GLOBAL, SHARED, LOCAL, CONST, PARAM };

typedef struct Warp Warp;
typedef struct Insn Insn;
typedef struct Worker Worker;
typedef void Exec(Warp *w, const Insn *i);

struct Insn {
  Exec *exec;
  u32 d, a, b, c, e; /* operands: offset | bank */
  u32 guard;         /* predicate operand + 1, or 0 */
  u32 negate;        /* 1: runs where the guard is false */
  u32 pc;            /* index in the module's instructions */
  s64 imm;           /* address displacement, table index, constant */
  u16 size;          /* bytes of one element in memory */
  u16 count;         /* elements of a vector access */
  u8 space, width;   /* state space; bytes of a destination register's lane */
  u8 flag, mode;     /* sign extension, volatile, comparison, rounding: see the reader */
};

enum Terminator { FALL, BRANCH, TABLE, RETURN, EXIT, TRAP, BARRIER, WARPSYNC, CALL };

typedef struct {
  u32 first, end;      /* instructions [first, end); the terminator is not among them */
  u32 kind;            /* enum Terminator */
  u32 next, target;    /* successors, as block numbers of the same function */
  u32 guard, negate;   /* as in Insn */
  u32 pc;              /* of the terminator */
  u32 a, b, c, d;      /* operands of the terminator */
  u32 index;           /* into `tables` or `calls` */
  u32 flag;
  u32 steps;           /* what running it costs of the budget */
} BasicBlock; /* numbered in reverse post-order from 0 in each function */

typedef struct {
  u32 block, blocks;   /* its basic blocks */
  u32 registers;       /* bytes of its register file */
  u32 local, params;   /* bytes a lane: stack frame, parameter area */
} Function; /* indirect calls reach function n at FUNCTION_BASE + n */

typedef struct { u32 from, to, bytes; } Copy;
typedef struct {
  u32 function, indirect, needs;   /* needs: bytes of parameters that the caller hands over */
  u32 in, ins, out, outs;          /* ranges of `copy` */
  u32 quiet;                       /* 1: a library's own code calls; see ptx_shadow_check */
} CallSite;

/* One buffer of global memory and its shadow, a cell for each granule. */
typedef struct {
  u32 writer, reader;                 /* block number + 1; 0 none; reader MANY: several */
  u32 wrote, read1, read2;            /* stamp: phase << 10 | thread */
  u32 wrote_pc, read1_pc, read2_pc;
} Cell;
#define MANY 0xFFFFFFFFu

enum { HOT_UNINIT = 0, HOT_SHARED_INPUT = 1, HOT_INIT = 2, HOT_TOUCHED = 3 };

typedef struct {
  u64 base, size;
  u8 *data;
  u32 *hot;                           /* state of each granule, HOT_... */
  Cell *cell;
  u32 readonly, dead;
} Buffer;

/* What the watchers report. Same key (kind, pc, pc2, buffer): one report with a count. */
enum Kind { RACE, INVALID, UNINIT, DIVERGENCE, TIMEOUT, DEADLOCK, TRAPPED, STACK, EARLY_EXIT,
            LIMIT, WARP_MASK, WARP_STUCK, ASSERTION, UNDEFINED };
enum { SAME_VALUE = 1, SAME_INSTRUCTION = 2, WITHIN_WARP = 4, ACROSS_BLOCKS = 8, ATOMIC = 16,
       MISALIGNED = 32, STORE = 64, OTHER_STORE = 128, UNKNOWN_BUFFER = 256, FREED = 512,
       READONLY = 1024, OTHER_ATOMIC = 2048, HEAP = 4096, IN_FLIGHT = 8192, BAD_FREE = 16384,
       BLOCK_SCOPE = 32768 };
enum { SCOPE_CTA = 32 }; /* in the flag of a strong access: other blocks take it for a plain one */

typedef struct {
  u32 kind, flags, pc, pc2, space, buffer;
  u32 block, thread, block2, thread2, size, extra;
  u64 address, count;
} Report;
enum { REPORTS = 1024 };
typedef struct { u32 n, lost; Report r[REPORTS]; u16 index[4 * REPORTS]; } Reports;

/* Counters of one instruction. */
typedef struct {
  u64 lanes, requests, sectors, bytes, moved, wavefronts, ideal;
} Counter;

/* One lane's access; `at` is its offset in the buffer or window, `phase` the barriers before. */
typedef struct Touch {
  u64 at;
  u32 block, thread, pc, phase, space, buffer, bytes, unused;
} Touch;

typedef struct {
  const Insn *insn;
  const BasicBlock *block;
  const Function *function;
  const CallSite *call;
  const Copy *copy;
  const u32 *table;
  const u8 *constants, *params;
  Buffer *buffer;
  const u32 *shared_init;       /* initial stamp of each shared granule: 0, or GAP */
  Report *reports;              /* out: room for REPORTS */
  Counter *counter;             /* out, by pc; NULL: do not count */
  u64 *visits, *visit_lanes;    /* out, by basic block: times and lanes */
  char *printed;                /* out: text of printf */
  struct Touch *trace;          /* out: every access, the first trace_room of them; or NULL */
  const u64 *chosen;            /* the numbers of the block_count blocks to run; NULL: all blocks */
  u64 constant_bytes, param_bytes, step_limit, block_count;
  u64 trace_room, traced;
  f64 wall_limit;
  u32 insns, blocks, functions, buffers, entry;
  u32 grid[3], dim[3];
  u32 shared_bytes;             /* of the shared window, gaps included */
  u32 shared_shift, global_shift;
  u32 threads;
  u32 schedule;                 /* 0: the usual order of warps and blocks; else another one */
  u32 ordered;                  /* one thread, blocks in order */
  u32 may_wait;                 /* blocks may wait for each other: long ones give way */
  u32 exact;                    /* finer orders than full barriers occur: see order.c */
  u32 block_fences;             /* the code has fences of scope .cta */
  u32 stops_at_error;           /* the first error that is found ends the launch */
  u32 only_stores;              /* of the trace: those to global memory, and no other access */
  u32 local_limit, printed_room;
  u32 heap_limit;               /* bytes that malloc has to give; 0: the kernel calls no malloc */
  u32 allocations;              /* of `buffers`, the first that malloc made; see heap.c */
  /* out */
  u32 nreports, lost, status, printed_bytes;
  u64 steps;
} Launch;
enum Status { ENDED, ABORTED, NO_MEMORY, AGAIN };

/* Shadow of a block's shared memory: stamps and where they were made, by granule. */
enum { GAP = 1, FIRST_PHASE = 4 };
#define THREAD_BITS 10
typedef struct {
  u32 *wrote, *read1, *read2, *wrote_pc, *read1_pc, *read2_pc;
} Shadow;

typedef struct {
  u32 function, parent, return_block;
  u32 lanes, returned;          /* in it and not returned; returned and waiting for the others */
  u32 pending_blocks;           /* how many blocks have a non-empty mask */
  u32 registers, masks, bits;   /* offsets in the warp's arena */
  u32 local, params;            /* a lane's stack offsets */
  u32 call;
} Frame;

/* Lanes that wait: at a barrier, or for the other lanes of a member mask. */
typedef struct { u32 mask, frame, block, pc, id, kind, want, membership, basic; } Wait;
enum { MAX_WAITS = 64, MAX_FRAMES = 512, MAX_THREADS = 64 };

typedef struct Cta Cta;
struct Warp {
  u8 *bank[4];                  /* registers, constants, special registers, (none) */
  u32 mask;                     /* active lanes */
  u32 lane[LANES] __attribute__((aligned(32))); /* 0 or FULL for each lane */
  Worker *worker;
  Cta *cta;
  const Launch *launch;
  u32 index, base;              /* number in the block; its first thread */
  u32 valid, exited;            /* lanes that exist; lanes that ended */
  u32 top, frames, waits, turns, picks;
  u64 steps;
  Frame frame[MAX_FRAMES];
  Wait wait[MAX_WAITS];
  u8 *arena; u32 arena_used, arena_room;
  u8 *local; u32 local_room;    /* [32][local_room] */
  u32 *defined, defined_room;   /* by byte of local memory: the lanes that gave it a value */
  u8 *params; u32 params_room;  /* [32][params_room] */
  struct Flight *flight;        /* async.c's: copies on their way */
  u32 flights, flight_room, groups[LANES];
  u32 passed[LANES];            /* the barrier that each lane last left, as its pc + 1 */
  u8 special[24 * 128] __attribute__((aligned(32)));
};

struct Cta {                    /* one block in flight */
  u32 number, at[3];
  u32 phase;                    /* stamp base: phase << THREAD_BITS */
  u32 warps, nthreads;
  u64 steps;
  u32 arrived[MAX_BARRIERS];    /* threads that came by bar.arrive */
  struct Order *order;          /* order.c's, when the launch is exact */
  u8 *shared;
  Shadow shadow;
  u32 pending[4096], npending;  /* log of uninitialised reads of this phase, see race.c */
  u64 barriers;
  struct Landing *landing;      /* async.c's: where copies are on their way to, or NULL */
  u32 flying, tracked;          /* how many copies are; words of them that an mbarrier tracks */
  Warp *warp;                   /* [MAX_WARPS] */
};

typedef struct Team Team;
struct Worker {
  const Launch *launch;
  Team *team;
  Reports reports;
  Counter *counter;
  u64 *visits, *visit_lanes, *guarded;
  u64 steps;
  struct Ledger *ledger;        /* releases, when the launch is exact */
  u64 heap_used; u32 buffer_room; /* heap.c */
  bool stop, no_memory;
};

#define SRC(T, r) ((const T *)(w->bank[(r) & 3] + ((r) & ~3u)))
#define DST(T, r) ((T *)(w->bank[(r) & 3] + ((r) & ~3u)))

/* Every lane in turn; lanes are independent of each other. */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#endif

void set_mask(Warp *w, u32 mask);

/* Watchers' entrances. */
void report(Worker *k, Report r);
void take_back(Worker *k, u32 kind, u32 pc, u32 space);
void count_global(Warp *w, const Insn *i, const u32 *offset, u32 bytes);
void count_shared(Warp *w, const Insn *i, const u32 *offset, u32 bytes);
void watch_shared_read(Warp *w, const Insn *i, const u32 *offset, u32 bytes);
void watch_shared_write(Warp *w, const Insn *i, const u32 *offset, u32 bytes);
void watch_global_read(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes);
void watch_global_write(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes);
void forget_stamps(const Cta *c, const Buffer *b);
void log_uninit(Cta *c, u32 granule, u32 thread, u32 pc);
void watch_phase_end(Cta *c);
void watch_barrier(Cta *c, u32 id, bool full);
void watch_arrive(Warp *w, u32 id, u32 mask);
void watch_warp_sync(Warp *w, u32 mask);
void make_order(Cta *c, Worker *k);
void free_order(Cta *c);
void reset_order(Cta *c);
void free_ledger(Worker *k);
void join_barrier(Cta *c, u32 id, bool full);
enum Access { READS, WRITES, UPDATES, PEEKS }; /* UPDATES, PEEKS: atomic, or strong */
void exact_shared(Warp *w, const Insn *i, const u32 *offset, u32 bytes, enum Access access);
void exact_global(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes,
                  enum Access access);
void exact_strong(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes,
                  enum Access access, bool releases);
void watch_invalid(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags);

/* heap.c */
bool open_heap(Launch *n);
void close_heap(Launch *n, Buffer *given);
/* async.c */
void watch_landing(Warp *w, const Insn *i, const u32 *offset, u32 bytes, bool stores);
void forget_flights(Cta *c);
void free_flights(Cta *c);
void land_at(Cta *c, u32 barrier);
void track_flights(Warp *w, const Insn *i, const u32 *barrier);

/* shadow.c */
void forget_defined(Warp *w, u32 from, u32 bytes, u32 lanes);

/* control.c, barrier.c, launch.c */
enum Outcome { DONE, BLOCKED, ROTATE, STOPPED };
enum Outcome run_warp(Warp *w);
void start_warp(Warp *w, u32 function);
void make_runnable(Warp *w, u32 frame, u32 block, u32 mask);
bool release_barriers(Cta *c);
bool release_warp_waits(Warp *w, bool force);
void say_deadlock(Cta *c);
int core_run(Launch *launch);

static inline u32 thread_of(const Warp *w, u32 lane) { return w->base + lane; }

#endif
