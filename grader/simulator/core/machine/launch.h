/* The inputs and results of a launch: grader/simulator/core/bindings.py mirrors these structures.
 *
 * A register is a vector of 32 lanes (b16: 64 bytes, b32: 128, b64: 256); a predicate is one
 * 32-bit lane mask. An operand is a byte offset (a multiple of 4) whose two low bits name the
 * bank that holds it: the frame's registers, the launch's constants, the warp's special registers.
 * An instruction is a C function `ptx_NAME`, which Python finds by its name. */
#ifndef MACHINE_LAUNCH_H
#define MACHINE_LAUNCH_H

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

/* Generic addresses. A global allocation is in the middle of a slot of 64 GiB of its own, so an
 * address that is out of its bounds still identifies it. */
#define SHARED_BASE 0x020000000000ull
#define LOCAL_BASE 0x030000000000ull
/* Where a thread's stack begins in its local memory. A pointer that leaves the first variable downward is still
 * below it, as on a GPU, whose stack begins at the memory's end. */
#define LOCAL_START 0x10000u
#define PARAM_BASE 0x040000000000ull
#define WINDOW (1ull << 32)
/* The generic address of a local variable names its owner above OWNER_SHIFT: the thread, and the low bits
 * of the block's number. On a GPU it does not, and another thread that uses it accesses its own memory. */
#define LOCAL_MARK (1ull << 63)
/* In a pointer to shared memory that another block has loaded from global memory: see pointers.c. */
#define FOREIGN_MARK (1ull << 62)
/* In the address of the word around an object of 8 or 16 bits, the operand of an atomic of libcu++: which of
 * the word's bytes it is, and enum Part. See instructions/part.c. */
#define PART_MARK (1ull << 61)
#define PART_AT 59
#define PART_KIND 57
enum Part { NO_PART, BYTE_PART, HALF_PART, STORED_PART };
#define OWNER_SHIFT 48
/* Below the owner, the number of the variable that an address was made from, as decode/numbering.py numbers them:
 * see ptx_shadow_object. 0: none. */
enum { MOST_VARIABLES = 63, VARIABLE_SHIFT = 42 };
#define VARIABLE_BITS ((u64)MOST_VARIABLES << VARIABLE_SHIFT)
#define OWNED_BLOCKS 32u
#define GLOBAL_BASE 0x100000000000ull
#define SLOT_BITS 36
#define SLOT_MIDDLE (1ull << 35)

enum Space { GENERIC, GLOBAL, SHARED, LOCAL, CONST, PARAM };

typedef struct Warp Warp;
typedef struct Insn Insn;
typedef void Exec(Warp *w, const Insn *i);

struct Insn {
  Exec *exec;
  u32 d, a, b, c, e; /* operands: offset | bank */
  u32 guard;         /* predicate operand + 1, or 0 */
  u16 negate;        /* 1: runs where the guard is false; VARIES: see proof.h */
  u16 used;          /* ptx_ld_used: a mask of the bytes that the program uses; else UPDATE_... */
  u32 pc;            /* index in the module's instructions */
  s64 imm;           /* address displacement, table index, constant */
  u16 size;          /* bytes of one element in memory */
  u16 count;         /* elements of a vector access */
  u8 space, width;   /* state space; bytes of a destination register's lane */
  u8 flag, mode;     /* sign extension, memory order, comparison, rounding: see the instruction */
};

/* In the flag of a load, store or atomic. */
enum { SIGNED_LOAD = 1, VOLATILE = 2, ACQUIRE = 4, RELEASE = 8, RELAXED = 16, SCOPE_CTA = 32,
       DATA_READ = 64,  /* of a strong load: its value is stored; of a store: it stores such a value */
       WAITING = 128, /* a loop repeats the load until its value allows to leave; with DATA_READ: one value, or by size */
       FOLLOWED = 64 }; /* of a weak load: whether what it loads is defined is found out at its use */
enum { NONCOHERENT = SCOPE_CTA }; /* of a load that is not strong: ld.global.nc */
/* In `used` of an instruction that reads a place for an update, or ends one: watch/updates.c. */
enum { UPDATE_READ = 1, UPDATE_WRITE = 2, UPDATE_MERGE = 4, UPDATE_BEST = 8,
       SHARED_POINTER = 16,   /* it stores 8 bytes computed of the address of a shared variable */
       RELOADED = 32 };       /* its thread has stored there just before what it loads: `reloads` of decode/memory.py */
enum { FENCE_SC = 1 };  /* in the flag of a fence, beside SCOPE_CTA */

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
  u32 steps;           /* its cost in the step budget */
  u32 loop;            /* the innermost loop that it belongs to: its number + 1, or 0 */
} BasicBlock; /* numbered in reverse post-order from 0 in each function */

/* A loop whose branches depend on registers alone: see endless.c. */
typedef struct {
  u32 first, last;     /* its basic blocks, as numbers of the launch; the first is its header */
  u32 outer;           /* the loop around it: its number + 1, or 0 */
  u32 pc;              /* of the branch back to the header */
  u32 state, states;   /* a range of `state` */
} Loop;
typedef struct { u32 at, bytes; } State; /* a part of the register file; 4 bytes: a predicate */

typedef struct {
  u32 block, blocks;   /* its basic blocks */
  u32 registers;       /* bytes of its register file */
  u32 local, params;   /* bytes a lane: stack frame, parameter area */
  u32 variable, variables; /* a range of `variable` */
} Function; /* indirect calls reach function n at FUNCTION_BASE + n * FUNCTION_BYTES */

/* Its bytes in its function's stack frame; a scalar, or another variable, of no library; which of so many numbers of one
 * variable, for rounds of a loop; where it ends is not known. */
enum { OWN_SCALAR = 1, OWN_AGGREGATE };
typedef struct { u32 first, end, own, round, rounds, open; } LocalVariable;

typedef struct { u32 from, to, bytes; } Copy;
typedef struct {
  u32 function, indirect, needs;   /* needs: bytes of parameters that the caller passes */
  u32 in, ins, out, outs;          /* ranges of `copy` */
  u32 library;                     /* 1: the caller is library code; see ptx_shadow_check */
} CallSite;

/* The shadow of one granule of global memory; read and written by watch/ alone. */
typedef struct {
  u32 writer, reader;                 /* block number + 1; 0: none; reader MANY: several */
  u32 wrote, read1, read2;            /* stamp: phase << 10 | thread */
  u32 wrote_pc, read1_pc, read2_pc;
} Cell;
#define MANY 0xFFFFFFFFu

enum { HOT_UNINIT = 0, HOT_SHARED_INPUT = 1, HOT_INIT = 2, HOT_TOUCHED = 3 };

enum { OF_MEMBER = 1, OF_NUMBER = 2 };

/* One buffer of global memory and its shadow. */
typedef struct {
  u64 base, size;
  u8 *data;
  u32 *hot;                           /* state of each granule, HOT_... */
  Cell *cell;                         /* shadow of each granule */
  u32 readonly, dead;                 /* constant memory; 0, or after the instruction that freed it */
  u32 written, input;                 /* a thread wrote to it; it has values that no thread changes: see write_voids */
  const u8 *members;                  /* of an argument: which of its `item` bytes belong to members, OF_MEMBER, or that it
                                         is a number, OF_NUMBER; item 0: none */
  u64 item;
} Buffer;

/* Texture and surface objects. The handle of object n is IMAGE_BASE + (n << IMAGE_SHIFT). Texels are in a
 * buffer without gaps, x first, then y, z or the layer. See instructions/texture.c. */
#define IMAGE_BASE 0x060000000000ull
#define IMAGE_SHIFT 8
enum ChannelType { UNSIGNED_TEXELS, SIGNED_TEXELS, FLOAT_TEXELS };
enum AddressMode { CLAMPED, BORDERED, WRAPPED, MIRRORED };
enum { IS_SURFACE = 1, IS_LINEAR_MEMORY = 2, IS_FILTERED = 4, IS_NORMALIZED = 8, READS_FLOAT = 16 };
typedef struct {
  u32 buffer, flags;           /* the number of its buffer; IS_... */
  u32 dims, layers;            /* 1 to 3; 0: not layered */
  u32 extent[3];               /* in texels; 1 beyond its dimensions */
  u32 channels, bytes, type;   /* of a texel; bytes of a channel; enum ChannelType */
  u32 address[3];              /* enum AddressMode */
} Image;
/* Why an instruction cannot use an object or a place in it. */
enum ImageFault { NO_OBJECT = 1, OTHER_OBJECT, OTHER_SHAPE, OTHER_TYPE, OUTSIDE_IMAGE, UNALIGNED_X, NO_LAYER };

/* Kinds of findings. Findings with the same kind, place and partner are one report with a count. */
enum Kind { RACE, INVALID, UNINIT, DIVERGENCE, TIMEOUT, DEADLOCK, TRAPPED, STACK, EARLY_EXIT,
            LIMIT, WARP_MASK, WARP_STUCK, ASSERTION, UNDEFINED, LOST_UPDATE, LANE_MISSING,
            BARRIER_COUNT, STANDSTILL, MBARRIER, MISUSED, OLD_VALUE, MISPRINTED,
            OVERLAPPED };
/* What the `extra` of MISUSED says: an instruction of a warp gets what makes it undefined. */
enum WarpMisuse { SHUFFLE_WIDTH = 1, MATRIX_ADDRESS, MATRIX_STRIDE };
enum { SAME_VALUE = 1, SAME_INSTRUCTION = 2, WITHIN_WARP = 4, ACROSS_BLOCKS = 8, ATOMIC = 16,
       MISALIGNED = 32, STORE = 64, OTHER_STORE = 128, UNKNOWN_BUFFER = 256, FREED = 512,
       READONLY = 1024, OTHER_ATOMIC = 2048, HEAP = 4096, IN_FLIGHT = 8192, BAD_FREE = 16384,
       BLOCK_SCOPE = 32768, OF_BLOCK = 32768, MIXED_SIZE = 65536, UNWAITED = 131072, STALE_CACHE = 262144,
       FOREIGN_LOCAL = 524288, IMAGE_OBJECT = 1048576, TEXTURE_CACHE = 2097152,
       /* OF_BLOCK: of a local variable that is FREED: by the end of its block, not of its function */
       FAILED_SWAP = 1 << 26, /* of a lost update: the thread's own is lost, by a compare-and-swap */
       FOREIGN_SHARED = 1 << 27,
       NO_PROXY_FENCE = 1 << 29, /* of a bulk copy of what an ordinary store wrote */
       KNOWN_OUTSIDE = 1 << 25, /* of an access in a line with a subscript that the compiler knows to be outside */
       NOT_GLOBAL = 1 << 30, /* the address of a shared or local variable, by an instruction for global memory; an atomic of the latter */
       INNER_ARRAY = 1 << 28, /* an access that leaves a member or a row of a variable, perhaps on purpose */
       NEVER_WRITTEN = 128, /* of an uninitialized read in global memory: no thread of the launch writes it */
       COMPUTED = 1, /* of an undefined value that a library computes with: no run gives it another value */
       ODD_SIZE = 8388608, IN_LIBRARY = 16777216 }; /* of an asynchronous copy; 1 << 22 is diagnose/races.py's PASSED_BY */

typedef struct {
  u32 kind, flags, pc, pc2, space, buffer;
  u32 block, thread, block2, thread2, size, extra;
  u64 address, count;
} Report;
enum { REPORTS = 1024 };

/* Counters of one instruction. */
typedef struct {
  u64 lanes, requests, sectors, bytes, moved, wavefronts, ideal;
  u64 wasted;                   /* sectors beyond those that the same bytes would touch in a row */
} Counter;

/* What the threads of a launch did; see watch/work.c. Bytes are summed over the lanes. */
typedef struct {
  u64 busiest, instructions;    /* of the thread that executed the most; of all threads */
  u64 working;                  /* threads that accessed global memory */
  u64 foreign;                  /* bytes read of shared memory that another thread wrote last */
  u64 distinct;                 /* bytes of global memory accessed, each once a block */
  u64 dynamic, foreign_dynamic; /* bytes of dynamic shared memory accessed; those of them in `foreign` */
  u64 stored;                   /* bytes written to global memory, unless where the thread wrote last */
} Work;
enum { COUNT_FOREIGN = 1, COUNT_DISTINCT = 2 };

/* One lane's access; `at` is its offset in the buffer or window, `phase` the number of barriers
 * that the block completed before it. With `trace_sync` there are records of synchronization too: a
 * barrier or bar.warp.sync has one for each thread with the same number in `at`. */
typedef struct {
  u64 at, value;                /* value: with only_strong, what memory has before the access */
  u32 block, thread, pc, phase, space, buffer, bytes, event;
} AccessRecord;
enum TraceEvent { ACCESS, FENCE, WARP_SYNC, BARRIER_ARRIVED, BARRIER_LEFT,
                  UNCHANGED }; /* with only_strong: a write that leaves the value that is there */

typedef struct {
  const Insn *insn;
  const BasicBlock *block;
  const Function *function;
  const CallSite *call;
  const Copy *copy;
  const u32 *table;
  const Loop *loop;
  const State *state;
  const LocalVariable *variable;
  const u8 *constants, *params;
  Buffer *buffer;
  const Image *image;           /* texture and surface objects, by number */
  const u32 *shared_init;       /* initial stamp of each shared granule: see watch/shared_stamps.h */
  Report *reports;              /* out: room for REPORTS */
  Counter *counter;             /* out, by pc; NULL: do not count */
  u64 *visits, *visit_lanes;    /* out, by basic block: times and lanes */
  char *printed;                /* out: text of printf */
  Work *work;                   /* out; NULL: do not count */
  AccessRecord *trace;          /* out: the first trace_room accesses; NULL: no trace */
  /* Of a launch by proof, see proof.h: by pc, what is assumed of an access, NULL in other launches; the code
   * of reduced blocks, which differs from `insn` and `block` in what is left out. */
  const u8 *assumed;
  const Insn *reduced_insn;
  const BasicBlock *reduced_block;
  const u64 *chosen;            /* the numbers of the block_count blocks to run; NULL: all blocks */
  const u8 *stale;              /* by pc: strong loads that may give old values: watch/old_values.c; NULL: none */
  const u8 *limited;            /* by pc: reads of loops that give up after some of them, up to `long_looks` in all; NULL: none */
  const u8 *lone;               /* by basic block: those in which `lane_order` holds; NULL: all */
  u64 constant_bytes, param_bytes, step_limit, block_count;
  u64 trace_room, traced;
  u64 unset;                    /* a value for undefined bits, and 1 << 32: see given_value; 0: what is there */
  f64 time_limit;
  u32 insns, blocks, functions, buffers, images, entry;
  u32 grid[3], dim[3];
  u32 shared_bytes;             /* of the shared window, gaps included */
  u32 dynamic_start;            /* where dynamic shared memory begins in it */
  u32 shared_shift, global_shift;
  u32 threads;
  u32 garbage;                  /* the value that a lane which provides none gives others; 0: what its register has */
  u32 schedule;                 /* 0: the usual order of warps and blocks; else the seed of another */
  u32 ordered;                  /* one thread, blocks in order */
  u32 may_wait;                 /* blocks may wait for each other: run them in time slices */
  u32 exact;                    /* finer orders than full barriers occur: see watch/order.h */
  u32 sync;                     /* what the code orders accesses with: HAS_... */
  u32 stops_at_error;           /* the first error ends the launch */
  u32 measures;                 /* COUNT_...: what `work` has beside instructions and threads */
  u32 representatives;          /* the most blocks that a launch by proof runs in full */
  u32 only_stores;              /* the trace has stores to global memory, no other access */
  u32 leaps;                    /* time may leap where nothing else changes: see endless.c */
  u32 gives_old;                /* the loads of `stale` give old values; else they are only reported */
  u32 pause;                    /* a pc + 1: the first warp that comes there pauses: see run_others; 0: none */
  u32 short_pause;              /* it pauses until a warp ends after memory has changed */
  u32 pause_changes;            /* the pause ends when other warps have changed memory so often; 0: see short_pause */
  u32 pause_skips;              /* so often warps come to the instruction before one pauses there: with a lane order, lanes */
  u32 pause_until;              /* a pc + 1: the pause ends when another warp has executed it, at the end of a block; 0: see above */
  u32 pause_behind;             /* a pc + 1: behind it, the warp pauses once more; 0: it does not */
  u32 restored;                 /* the pause, before a swap, ends when its place has again had what the swap expects so often; 0: see above */
  u32 hurries;                  /* while a warp pauses, time passes fast for others: see instructions/clock.c */
  u32 long_looks;               /* the most looks for which warps keep their turns, at the reads of `limited` */
  u32 old_pause;                /* a warp pauses, again, once a load has given an old value or might have: enum OldPause */
  u32 whole_turns;              /* turns are as long as in the usual order, in another one too */
  u32 lane_order;               /* lanes of a warp run one after the other, until each waits or ends: enum LaneOrder */
  u32 first_wins;               /* of lanes that store to one place at once, the first one's value stays, not the last one's */
  u32 only_strong;              /* the trace has strong accesses and atomics alone; PLAIN_TOO: plain ones, too, all with values */
  u32 trace_sync;               /* the trace has fences and barriers, too */
  u32 cycles;                   /* what an instruction of a warp takes: see clock.c */
  u32 local_limit, printed_room;
  u32 heap_limit;               /* bytes of the heap; 0: the kernel does not call malloc */
  u32 allocations;              /* index of the first buffer that malloc made; see heap.c */
  u32 by_block;                 /* whether basic blocks do more than run: set by core_run */
  /* out */
  u32 nreports, lost, status, printed_bytes;
  u32 observed;                 /* what only atomics that observed others ordered: enum Observed */
  u64 steps;
} Launch;
enum { HAS_FENCES = 1, HAS_BLOCK_SCOPE = 2, HAS_ACQUIRES = 4, HAS_NONCOHERENT = 8, HAS_UPDATES = 16,
       HAS_CHECKS = 32, HAS_TESTS = 64 };
/* A plain access that follows atomics of another lane, or warp, by what atomics of the usual order observed alone. */
enum Observed { ANOTHER_LANE = 1, ANOTHER_WARP = 2 };
enum LaneOrder { IN_STEP, FIRST_TO_LAST, LAST_TO_FIRST };
enum OldPause { NO_PAUSE, AT_ONCE, AFTER_FENCE }; /* at once, or after the next fence */
enum Status { ENDED, ABORTED, NO_MEMORY, AGAIN, NOT_PROVEN };

int core_run(Launch *launch);
u32 core_sizes(u32 what);
const char *core_sources(void);
int core_has_avx2(void);

#endif
