/* PTX ISA, "Control Flow Instructions", and the scheduling of one warp.
 *
 * Each frame keeps a mask of lanes for every basic block, numbered in reverse post-order. The
 * lowest block with lanes runs next: lanes that diverged reconverge before they go on, without
 * post-dominators. After a number of picks the highest block runs, so that lanes that spin do not
 * starve the lanes that they wait for. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/operation.h"
#include "machine/params.h"
#include "machine/proof.h"

enum { STEPS_A_TURN = 4096, PICKS_A_ROTATION = 1024, BLOCKS_A_LOOK = 64, STEPS_A_LOOK = 64, TURNS_OF_A_FRAME = 7, TURNS_OF_SLEEP = 256 };
#define NO_BLOCK UINT32_MAX

static inline u32 *masks(Warp *w, const Frame *f) { return (u32 *)(w->arena + f->masks); }
static inline u64 *bits(Warp *w, const Frame *f) { return (u64 *)(w->arena + f->bits); }

void set_mask(Warp *w, u32 mask) {
  w->mask = mask;
  u32 *lane = w->lane;
  EACH_LANE { lane[l] = mask >> l & 1 ? FULL : 0; }
}

void make_runnable(Warp *w, u32 frame, u32 block, u32 mask) {
  Frame *f = &w->frame[frame];
  u32 *m = masks(w, f);
  if (!mask) return;
  if (!m[block]) {
    f->pending_blocks++;
    bits(w, f)[block / 64] |= 1ull << block % 64;
  }
  m[block] |= mask;
}

/* The first basic block with lanes that do not sleep, nor wait for another lane's turn. */
static u32 awake_block(Warp *w, const Frame *f) {
  const u64 *b = bits(w, f);
  for (u32 k = 0; k < (w->launch->function[f->function].blocks + 63) / 64; k++)
    for (u64 word = b[k]; word; word &= word - 1) {
      u32 at = k * 64 + (u32)__builtin_ctzll(word);
      if (masks(w, f)[at] & ~(w->asleep | w->held)) return at;
    }
  return NO_BLOCK;
}

static u32 first_block(const u64 *b) {
  u32 k = 0;
  while (!b[k]) k++;
  return k * 64 + (u32)__builtin_ctzll(b[k]);
}

static u32 take_block(Warp *w, Frame *f, bool last, u32 *mask) {
  u64 *b = bits(w, f);
  u32 words = (w->launch->function[f->function].blocks + 63) / 64, at = 0;
  if (last) {
    for (u32 k = words; k-- > 0;)
      if (b[k]) { at = k * 64 + 63 - (u32)__builtin_clzll(b[k]); break; }
  } else {
    at = w->asleep | w->held ? awake_block(w, f) : first_block(b);
  }
  b[at / 64] &= ~(1ull << at % 64);
  f->pending_blocks--;
  *mask = masks(w, f)[at];
  masks(w, f)[at] = 0;
  return at;
}

static bool reserve(u8 **p, u32 *room, u32 want, u32 copies) {
  if (want <= *room) return true;
  u32 more = want < 2 * *room ? 2 * *room : want;
  u8 *q = calloc(copies, more);
  if (!q) return false;
  for (u32 k = 0; k < copies && *p; k++) memcpy(q + (size_t)k * more, *p + (size_t)k * *room, *room);
  free(*p);
  *p = q;
  *room = more;
  return true;
}

/* A frame above `parent` that its lanes have left, while other lanes are in frames above it. Lanes that
 * call in turns would otherwise leave ever more of them. */
static u32 left_frame(const Warp *w, u32 function, u32 parent) {
  u32 first = parent == NO_FRAME ? w->frames : parent + 1;
  for (u32 k = first; k < w->frames; k++) {
    const Frame *f = &w->frame[k];
    if (f->function == function && !f->lanes && !f->returned) return k;
  }
  return w->frames;
}

/* The frame that other lanes of the same call are in; NULL if there is none. Lanes that come later join them,
 * so that all of them execute together what exchanges registers there. A lane joins once: what a variable
 * without a value holds, and whether it has one, is that of the frame's start. */
static Frame *frame_of_call(Warp *w, u32 lanes, u32 parent, u32 call) {
  for (u32 k = parent == NO_FRAME ? w->frames : parent + 1; k < w->frames; k++) {
    Frame *f = &w->frame[k];
    if (f->parent == parent && f->call == call && f->lanes && !(f->entered & lanes)) return f;
  }
  return NULL;
}

static const Frame *join(Warp *w, Frame *f, u32 function, u32 lanes) {
  f->lanes |= lanes;
  f->entered |= lanes;
  announce_frame_pushed(w, f->local, w->launch->function[function].local, lanes);
  make_runnable(w, (u32)(f - w->frame), 0, lanes);
  return f;
}

/* A frame for `lanes` in `function`; NULL when the stack is full. */
static const Frame *push(Warp *w, u32 function, u32 lanes, u32 parent, u32 ret, u32 call) {
  const Function *fn = &w->launch->function[function];
  Frame *others = frame_of_call(w, lanes, parent, call);
  if (others && others->function == function) return join(w, others, function, lanes);
  u32 number = left_frame(w, function, parent);
  bool is_new = number == w->frames;
  u32 used = is_new ? w->arena_used : w->frame[number].registers;
  u32 room = ((fn->registers + 31) & ~31u) + ((fn->blocks * 4 + 31) & ~31u) +
             (((fn->blocks + 63) / 64 * 8 + 31) & ~31u);
  Frame *up = parent == NO_FRAME ? NULL : &w->frame[parent];
  const Function *from = up ? &w->launch->function[up->function] : NULL;
  u32 local = up ? up->local + from->local : 0, params = up ? up->params + from->params : 0;
  if (number == MAX_FRAMES || local + fn->local > w->launch->local_limit) return NULL;
  if (used + room > MAX_ARENA || params + fn->params > MAX_ARENA / LANES) return NULL;
  if (!reserve(&w->arena, &w->arena_room, used + room, 1) ||
      !reserve(&w->local, &w->local_room, local + fn->local, LANES) ||
      !reserve(&w->params, &w->params_room, (params + fn->params) * LANES, 1)) {
    w->worker->no_memory = true;
    return NULL;
  }
  Frame *f = &w->frame[number];
  *f = (Frame){.function = function, .parent = parent, .return_block = ret, .lanes = lanes, .entered = lanes,
               .registers = used, .local = local, .params = params, .call = call};
  f->masks = used + ((fn->registers + 31) & ~31u);
  f->bits = f->masks + ((fn->blocks * 4 + 31) & ~31u);
  if (is_new) {
    w->frames++;
    w->arena_used = used + room;
  }
  memset(w->arena + used, 0, room);
  announce_frame_pushed(w, local, fn->local, lanes);
  make_runnable(w, number, 0, lanes);
  return f;
}

void start_warp(Warp *w, u32 function) {
  w->frames = w->arena_used = w->waits = w->exited = w->turns = w->picks = 0;
  w->steps = w->clock_steps = w->clock_reads = w->quiet_reads = w->waited = w->skips = 0;
  memset(w->look, 0, sizeof w->look);
  memset(w->known, 0, sizeof w->known);
  w->last_look = NULL;
  w->patience = w->held = 0;
  w->looks_on = false;
  w->hurried = 0;
  wake(w);
  start_loop_watch(w);
  w->repetition.change = w->signature = w->tested = 0;
  memset(w->ran, 0, sizeof w->ran);
  memset(w->awaits, 0, sizeof w->awaits);
  /* What a variable without a value holds must not depend on the block that this worker ran before. */
  if (w->local) memset(w->local, 0, (size_t)LANES * w->local_room);
  push(w, function, w->valid, NO_FRAME, 0, 0);
}

static void copy_params(Warp *w, const Copy *c, u32 n, u32 from, u32 to, u32 lanes) {
  for (u32 k = 0; k < n; k++) copy_param(w, from + c[k].from, to + c[k].to, c[k].bytes, lanes);
}

/* Lanes that returned go on in the caller. */
static void return_lanes(Warp *w, Frame *f) {
  const CallSite *s = &w->launch->call[f->call];
  Frame *up = &w->frame[f->parent];
  copy_params(w, w->launch->copy + s->out, s->outs, f->params, up->params, f->returned);
  make_runnable(w, f->parent, f->return_block, f->returned);
  f->returned = 0;
}

static void pop_empty_frames(Warp *w) {
  while (w->frames > 1 && !w->frame[w->frames - 1].lanes && !w->frame[w->frames - 1].returned)
    w->arena_used = w->frame[--w->frames].registers;
}

static void leave(Warp *w, u32 frame, u32 mask, bool exits) {
  Frame *f = &w->frame[frame];
  if (exits || f->parent == NO_FRAME) {
    w->exited |= mask;
    for (u32 k = frame; k != NO_FRAME; k = w->frame[k].parent) w->frame[k].lanes &= ~mask;
  } else {
    f->lanes &= ~mask;
    f->returned |= mask;
  }
  for (u32 k = frame; k != NO_FRAME && w->frame[k].parent != NO_FRAME; k = w->frame[k].parent)
    if (!w->frame[k].lanes && w->frame[k].returned) return_lanes(w, &w->frame[k]);
  pop_empty_frames(w);
}

/* Lanes that returned while others of their call wait elsewhere: they go on when no other lane can, or when
 * the others may wait for them (see `let_returned_go`). */
static bool release_returned(Warp *w) {
  for (u32 k = w->frames; k-- > 1;)
    if (w->frame[k].returned) {
      return_lanes(w, &w->frame[k]);
      return true;
    }
  return false;
}

static void call(Warp *w, const BasicBlock *b, u32 frame, u32 at) {
  const CallSite *s = &w->launch->call[b->index];
  u32 mask = w->mask, function = s->function;
  if (s->indirect) {
    const u64 *target = SRC(u64, b->a);
    u64 first = target[__builtin_ctz(mask)];
    u32 same = 0;
    for (u32 l = 0; l < LANES; l++) same |= (u32)(w->lane[l] && target[l] == first) << l;
    make_runnable(w, frame, at, mask & ~same);
    mask = same;
    u64 number = (first - FUNCTION_BASE) / FUNCTION_BYTES;
    if (first % FUNCTION_BYTES || number >= w->launch->functions || w->launch->function[number].params < s->needs) {
      fail(w, TRAPPED, b->pc, BAD_CALL);
      return;
    }
    function = (u32)number;
  }
  const Frame *f = push(w, function, mask, frame, b->next, b->index);
  if (!f) {
    fail(w, STACK, b->pc, 0);
    return;
  }
  copy_params(w, w->launch->copy + s->in, s->ins, w->frame[frame].params, f->params, mask);
}

void fail(Warp *w, u32 kind, u32 pc, u32 extra) {
  announce_fault(w, kind, pc, extra);
  w->worker->stop = true;
}

/* In place of an instruction of a library that is not simulated, and that most launches never reach. */
void ptx_refused(Warp *w, const Insn *i) { fail(w, TRAPPED, i->pc, REFUSED); }

static void table_jump(Warp *w, const BasicBlock *b, u32 frame) {
  const u32 *index = SRC(u32, b->a);
  const u32 *table = w->launch->table + b->index;
  for (u32 left = w->mask; left; left &= left - 1) {
    u32 l = (u32)__builtin_ctz(left);
    if (index[l] < b->b) make_runnable(w, frame, table[index[l]], 1u << l);
    else { fail(w, TRAPPED, b->pc, BAD_TABLE); return; }
  }
}

static void guarded(Warp *w, const Insn *i) {
  u32 whole = w->mask, p = *SRC(u32, i->guard - 1) ^ (i->negate & 1 ? FULL : 0);
  if (i->negate & VARIES) sign(w, i->pc, whole & p);
  if (!(whole & p)) return;
  if (w->launch->counter) w->worker->guarded[i->pc] += (u32)__builtin_popcount(whole & p);
  if ((whole & p) == whole) {
    i->exec(w, i);
    return;
  }
  set_mask(w, whole & p);
  i->exec(w, i);
  set_mask(w, whole);
}

static void add_steps(Warp *w, u32 steps) {
  const u32 *lane = w->lane;
  u32 *ran = w->ran;
  EACH_LANE { ran[l] += lane[l] & steps; }
}

static bool has_lanes(const Warp *w, const Insn *i) {
  return !i->guard || w->mask & (*SRC(u32, i->guard - 1) ^ (i->negate & 1 ? FULL : 0));
}

/* A warp whose load has given an old value, or might have, pauses before it acts on that. */
static void pause_again(Warp *w) {
  if (w->worker->paused) return;
  w->worker->gave_old = NULL;
  run_others(w, NULL);
}

/* What a basic block does besides: it counts the lanes' instructions, or a warp pauses in it. False: the block has
 * not run. */
OUTLINE bool run_besides(Warp *w, const BasicBlock *b) {
  const Launch *n = w->launch;
  if (n->work) add_steps(w, b->steps);
  Worker *k = w->worker;
  bool begins = n->pause && !k->has_paused;
  bool again = n->pause_behind && k->has_paused && !k->paused && !k->has_paused_again;
  if (n->pause_until && k->paused && !k->has_paused_again && b->end > b->first)
    k->pause_ends |= n->insn[b->end - 1].pc + 1 == n->pause_until;
  if (!n->old_pause && !begins && !again) return false;
  for (const Insn *i = n->insn + b->first; i < n->insn + b->end; i++) {
    if (i->pc + 1 == n->pause && !k->has_paused && has_lanes(w, i) && k->skipped_pauses++ >= n->pause_skips) run_others(w, i);
    if (i->guard) guarded(w, i);
    else i->exec(w, i);
    if (again && i->pc + 1 == n->pause_behind && !k->has_paused_again) {
      k->has_paused_again = true;
      run_others(w, NULL);
    }
    if (k->gave_old == w && n->old_pause && (n->old_pause == AT_ONCE || i->exec == ptx_fence)) pause_again(w);
  }
  return true;
}

static void run_block(Warp *w, const BasicBlock *b, u32 number) {
  const Insn *i = w->launch->insn + b->first, *end = w->launch->insn + b->end;
  Worker *k = w->worker;
  k->visits[number]++;
  k->visit_lanes[number] += (u32)__builtin_popcount(w->mask);
  w->repetition.ran |= w->mask;
  w->steps += b->steps;
  if (w->launch->by_block && run_besides(w, b)) return;
  for (; i < end; i++) {
    if (i->guard) guarded(w, i);
    else i->exec(w, i);
  }
}

/* Moves a basic block's lanes to where they go next. Returns true with *at set when they all go on
 * together and no other lane of this frame can run. */
static bool finish_block(Warp *w, const BasicBlock *b, u32 frame, u32 *at) {
  u32 mask = w->mask, go = mask;
  Frame *f = &w->frame[frame];
  if (b->guard) {
    go &= *SRC(u32, b->guard - 1) ^ (b->negate & 1 ? FULL : 0);
    if (b->negate & VARIES) sign(w, b->pc, go);
  }
  u32 stay = mask & ~go;
  if (b->kind == FALL || (b->kind == BRANCH && (!go || !stay))) {
    u32 next = b->kind == BRANCH && go ? b->target : b->next;
    if (!f->pending_blocks) { *at = next; return true; }
    make_runnable(w, frame, next, mask);
    return false;
  }
  make_runnable(w, frame, b->next, stay);
  if (!go) return false;
  if (stay) set_mask(w, go);
  switch (b->kind) {
    case BRANCH: make_runnable(w, frame, b->target, go); break;
    case TABLE: table_jump(w, b, frame); break;
    case RETURN: leave(w, frame, go, false); break;
    case EXIT: leave(w, frame, go, true); break;
    case TRAP: fail(w, TRAPPED, b->pc, 0); break;
    case BARRIER: arrive(w, b, frame); break;
    case WARPSYNC: arrive_in_warp(w, b, frame); break;
    case CALL: call(w, b, frame, *at); break;
  }
  return false;
}

static bool can_run(Warp *w, const Frame *f) {
  return f->pending_blocks && (!(w->asleep | w->held) || awake_block(w, f) != NO_BLOCK);
}

/* Frames take turns, so that lanes in one do not wait forever for those in another. In other orders turns
 * are short; frames then take turns more seldom, so that lanes that diverged still meet before a call. */
static u32 pick_frame(Warp *w) {
  if ((w->launch->schedule ? w->turns >> TURNS_OF_A_FRAME : w->turns) & 1) {
    for (u32 k = 0; k < w->frames; k++)
      if (can_run(w, &w->frame[k])) return k;
  } else {
    for (u32 k = w->frames; k-- > 0;)
      if (can_run(w, &w->frame[k])) return k;
  }
  return NO_FRAME;
}

static bool is_lone(const Launch *n, u32 block) { return !n->lone || n->lone[block]; }

/* Whether lanes that are in step come to a basic block in which they run one after the other. */
static bool begins_alone(const Warp *w, u32 block) { return !w->held && is_lone(w->launch, block); }

/* Whether a lane can go on at once in a basic block in which lanes run one after the other. */
static bool goes_on_alone(Warp *w, u32 lane) {
  for (u32 k = 0; k < w->frames; k++) {
    const Frame *f = &w->frame[k];
    const Function *fn = &w->launch->function[f->function];
    for (u32 at = 0; f->pending_blocks && at < fn->blocks; at++)
      if (masks(w, f)[at] & lane) return is_lone(w->launch, fn->block + at) && !(w->asleep & lane);
  }
  return false;
}

/* Takes lanes of a basic block that run next. Where lanes run one after the other there, it is the first or the last one,
 * and the others wait until it waits, ends, sleeps, or comes to where they run in step. */
static u32 take_lanes(Warp *w, u32 frame, u32 *mask) {
  const Launch *n = w->launch;
  Frame *f = &w->frame[frame];
  bool rotate = !(w->asleep | w->held) && f->pending_blocks > 1 && ++w->picks % PICKS_A_ROTATION == 0;
  u32 at = take_block(w, f, rotate, mask);
  u32 can = *mask & ~(w->asleep | w->held);
  if (n->lane_order && !w->held && can && is_lone(n, n->function[f->function].block + at))
    w->held = ~(n->lane_order == FIRST_TO_LAST ? can & -can : 1u << (LANES - 1 - (u32)__builtin_clz(can)));
  make_runnable(w, frame, at, *mask & w->held);
  *mask &= ~w->held;
  return at;
}

/* The steps that a warp runs before the next warp does; any number is legal. */
static u64 turn_of(const Warp *w) {
  const Launch *n = w->launch;
  if (takes_steps(w->worker)) return 1;
  if (n->whole_turns) return STEPS_A_TURN;
  u32 r = n->schedule ? mixed(n->schedule, w->cta->number * MAX_WARPS + w->index, w->turns) : 0;
  if (is_of_kind(n, ABREAST)) return 1;
  if (is_of_kind(n, PATIENT)) return STEPS_A_TURN;
  return n->schedule ? 1 + r % (2u << (r >> 16) % 6) : STEPS_A_TURN;
}

/* At the end of a turn: lanes that returned go on while others of their call run, who may spin until these
 * give a lock back. */
static void let_returned_go(Warp *w) {
  if (!w->launch->may_wait || (w->launch->schedule && w->turns & FULL >> (LANES - TURNS_OF_A_FRAME))) return;
  while (release_returned(w)) {}
}

/* Whether lanes are in a loop of which registers alone decide the end, or their callers are: what they look at does not. */
static bool ends_by_registers(const Warp *w, u32 frame, u32 block) {
  const Launch *n = w->launch;
  for (;; frame = w->frame[frame].parent) {
    const Frame *f = &w->frame[frame];
    if (n->block[n->function[f->function].block + block].loop) return true;
    if (f->parent == NO_FRAME) return false;
    block = f->return_block;
  }
}

/* Ends a turn in which the warp can go on, or could but for lanes that sleep. */
static enum Outcome end_turn(Warp *w, u64 before) {
  w->turns++;
  w->cta->steps += w->steps - before;
  return w->worker->stop ? STOPPED : ROTATE;
}

enum Outcome run_warp(Warp *w) {
  u64 before = w->turn_began = w->steps;
  w->turn_ends = before + turn_of(w);
  w->slept = w->resting = 0;
  if (w->asleep && ++w->skips % TURNS_OF_SLEEP == 0) wake(w);
  bool exact = w->launch->exact;
  for (;;) {
    if (w->asleep) wake_changed(w);
    if (w->held && !goes_on_alone(w, ~w->held)) w->held = 0;
    u32 frame = pick_frame(w);
    if (frame == NO_FRAME) {
      if (release_warp_waits(w, false) || release_returned(w)) continue;
      break;
    }
    const Frame *f = &w->frame[frame];
    u32 mask, at = take_lanes(w, frame, &mask);
    const Function *fn = &w->launch->function[f->function];
    w->top = frame;
    w->bank[0] = w->arena + f->registers;
    w->asleep &= ~mask;
    if (mask != w->mask) set_mask(w, mask);
    bool straight, straight_on;
    u32 ran = at;
    w->look_again = exact ? w->steps + STEPS_A_LOOK : UINT64_MAX;
    do {
      const BasicBlock *b = &w->launch->block[fn->block + at];
      straight = straight_on = false;
      ran = at;
      if (w->steps >= w->watch.at && find_endless(w, frame, fn->block + at)) break;
      run_block(w, b, fn->block + at);
      straight = finish_block(w, b, frame, &at);
      straight_on = straight && !(w->launch->lane_order && begins_alone(w, fn->block + at));
    } while (straight_on && w->steps < w->turn_ends && w->steps < w->look_again && !w->worker->stop);
    if (straight) make_runnable(w, frame, at, w->mask);
    if (!w->look_again && ends_by_registers(w, frame, ran)) w->asleep &= ~mask;
    bool late = exact && is_late(w->worker, BLOCKS_A_LOOK);
    if (w->steps < w->turn_ends && !w->worker->stop && !late) continue;
    enum Outcome end = end_turn(w, before);
    let_returned_go(w);
    return end;
  }
  w->resting = w->asleep;
  if (w->resting) return end_turn(w, before);
  w->cta->steps += w->steps - before;
  return w->waits || w->watch.endless ? BLOCKED : DONE;
}
