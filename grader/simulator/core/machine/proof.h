/* A launch by proof: what the watchers find of shared memory in one block holds for every block like it.
 *
 * decode/proof.py has shown of the kernel that no branch, guard, barrier or address depends on memory, and that
 * only branches, guards and addresses in global memory depend on the block's number. Two blocks with the same
 * masks of lanes at the branches that do (VARIES) execute the same instructions with the same lanes, and access
 * the same places of shared and local memory. A few representatives run as usual; the others are reduced: what
 * they do in shared memory is not announced, and `reduced_insn` may lack what feeds nothing else. Each block
 * hashes the masks; one whose signature is no representative's, and any report at all, void the launch
 * (NOT_PROVEN): the caller repeats it as usual. docs/simulator.md has the argument. */
#ifndef MACHINE_PROOF_H
#define MACHINE_PROOF_H
#include "machine/control.h"
#include "machine/events.h"

enum { MOST_REPRESENTATIVES = 27 }; /* the first, the middle and the last index of each dimension */
enum { VARIES = 2 };                /* in `negate` of a guard: it depends on the block's number */

/* What is assumed of an access whose instruction does not name the state space for certain: at an address that
 * differs by block, that it is to no memory of the block's own; to the thread's own local memory; not to global
 * memory, as reduced code lacks it. */
enum { ASSUMED_OUTSIDE = 1, ASSUMED_LOCAL = 2, ASSUMED_NOT_GLOBAL = 4 };

typedef struct {
  u64 number, signature, steps;
  u64 alike;                    /* how many reduced blocks are like it, and like none before it */
  u64 *visits, *visit_lanes, *guarded; /* as in Worker */
} Representative;

typedef struct Proof {
  Launch reduced;               /* the launch with the code of reduced blocks */
  const Listeners *full, *to_reduced;
  bool choosing;                /* the representatives run */
  u32 n;
  Representative of[MOST_REPRESENTATIVES];
} Proof;

bool make_proof(Team *team, const Listeners *full, const Listeners *reduced);
void free_proof(Team *team);
bool take_in_proof(Team *team, u64 *number);
void start_in_proof(Cta *c);
void end_in_proof(Cta *c);
void watch_fully(Worker *k);
void begin_reduced_blocks(Team *team);
void count_alike(const Team *team, Worker *all, u32 workers);
u64 blocks_like(const Team *team, u32 representative);
void check_assumption(Warp *w, const Insn *i, u32 space);

/* Ends a launch by proof, which proves nothing. */
static inline void disprove(Worker *k) { k->stop = true; }

static inline const Launch *code_of(const Cta *c) {
  return c->reduced ? &c->worker->team->proof->reduced : c->worker->launch;
}

static inline void sign(Warp *w, u32 pc, u32 mask) {
  w->signature = (w->signature ^ ((u64)pc << 32 | mask)) * 0x9E3779B97F4A7C15ull;
  w->signature ^= w->signature >> 29;
}

/* Whether an access is announced: in reduced blocks only one to global memory. */
static inline bool is_watched(Warp *w, const Insn *i, u32 space) {
  const Cta *c = w->cta;
  if (!c->reduced && !c->representative) return true;
  if (i->space == GENERIC || i->space == CONST) check_assumption(w, i, space);
  return !c->reduced || space == GLOBAL;
}

#endif
