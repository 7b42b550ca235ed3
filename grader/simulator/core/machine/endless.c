/* Finds loops that never end, long before the limit of steps.
 *
 * Of a loop whose branches depend on registers alone, and these on nothing but each other (see
 * decode/blocks.py), a lane that comes to the header with the same values twice, and stayed inside,
 * comes again forever. Now and then the warp watches one loop for some visits of its header. The
 * registers of addresses are compared as well, so that a loop that will leave an array is not ended
 * before it does. Lanes that never leave a loop no longer run; the block ends when no other can. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"

/* In steps of a warp. Watching takes time: a warp that goes on for long is watched less often. */
enum { FIRST_WATCH = 1 << 13, LONGEST_PAUSE = 1 << 20, LONGEST_WATCH = 1 << 17,
       VISITS = 64 }; /* of the header by the lanes of one watch */

void start_loop_watch(Warp *w) {
  LoopWatch *v = &w->watch;
  v->at = v->pause = FIRST_WATCH;
  v->loop = v->lanes = v->attempts = v->endless = 0;
}

static void end_watch(Warp *w) {
  LoopWatch *v = &w->watch;
  v->loop = 0;
  v->at = w->steps + v->pause;
  if (v->pause < LONGEST_PAUSE) v->pause *= 2;
}

/* Watches a loop that the block is in: at each attempt the next one outward, then the innermost again. */
static bool begin_watch(Warp *w, u32 frame, u32 block) {
  LoopWatch *v = &w->watch;
  const Loop *loops = w->launch->loop;
  u32 depth = 0, number = w->launch->block[block].loop;
  for (u32 k = number; k; k = loops[k - 1].outer) depth++;
  if (!depth) return false;
  for (u32 k = v->attempts++ % depth; k; k--) number = loops[number - 1].outer;
  v->loop = number;
  v->frame = frame;
  v->lanes = w->mask;
  v->seen = v->visits = 0;
  v->at = w->steps;
  return true;
}

/* Compares the state of some lanes with what was saved, and saves that of others. Returns those that
 * are equal. A predicate is a mask of lanes; of other registers each lane has its own bytes. */
static u32 compare_state(Warp *w, const Loop *loop, u32 compared, u32 saved) {
  const u8 *registers = w->arena + w->frame[w->watch.frame].registers;
  u8 *kept = w->watch.state;
  for (u32 k = 0; k < loop->states; k++) {
    const State *s = &w->launch->state[loop->state + k];
    const u8 *now = registers + s->at;
    if (s->bytes == sizeof(u32)) {
      u32 bits, before;
      memcpy(&bits, now, sizeof bits);
      memcpy(&before, kept, sizeof before);
      compared &= ~(bits ^ before);
      before = (before & ~saved) | (bits & saved);
      memcpy(kept, &before, sizeof before);
    } else {
      u32 bytes = s->bytes / LANES;
      for (u32 left = compared | saved; left; left &= left - 1) {
        u32 l = first_lane(left), from = l * bytes;
        if (saved >> l & 1) memcpy(kept + from, now + from, bytes);
        else if (memcmp(kept + from, now + from, bytes)) compared &= ~(1u << l);
      }
    }
    kept += s->bytes;
  }
  return compared;
}

static bool reserve_state(Warp *w, const Loop *loop) {
  LoopWatch *v = &w->watch;
  u32 want = 0;
  for (u32 k = 0; k < loop->states; k++) want += w->launch->state[loop->state + k].bytes;
  if (want <= v->room) return true;
  u8 *p = realloc(v->state, want);
  if (!p) return false;
  v->state = p;
  v->room = want;
  return true;
}

/* Whether a block is outside a loop, or may leave the function: its next call is another loop. */
static bool leaves(const Warp *w, const Loop *loop, u32 block) {
  u32 kind = w->launch->block[block].kind;
  return block < loop->first || block > loop->last || kind == RETURN || kind == EXIT;
}

/* Called before a block runs. Returns true when none of the warp's active lanes goes on. */
bool find_endless(Warp *w, u32 frame, u32 block) {
  LoopWatch *v = &w->watch;
  if (!v->loop && !begin_watch(w, frame, block)) return false;
  const Loop *loop = &w->launch->loop[v->loop - 1];
  u32 mine = frame == v->frame ? w->mask & v->lanes : 0;
  if (mine && leaves(w, loop, block)) v->lanes &= ~mine;
  if (!v->lanes || w->steps > v->at + LONGEST_WATCH || !reserve_state(w, loop)) {
    end_watch(w);
    return false;
  }
  if (!mine || block != loop->first) return false;
  u32 endless = compare_state(w, loop, mine & v->seen, mine & ~v->seen);
  v->lanes &= ~endless;
  v->seen |= mine;
  if (!v->lanes || ++v->visits > VISITS) end_watch(w);
  if (!endless) return false;
  v->endless |= endless;
  v->pc = loop->pc;
  if (endless == w->mask) return true;
  set_mask(w, w->mask & ~endless);
  return false;
}

/* Ends the launch if a warp has lanes that never leave a loop. */
bool abort_endless(Cta *c) {
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    if (!w->watch.endless) continue;
    set_mask(w, w->watch.endless);
    fail(w, TIMEOUT, w->watch.pc, 1);
    return true;
  }
  return false;
}
