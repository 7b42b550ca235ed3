/* PTX ISA, "Parallel Synchronization" and "Data Movement": the instructions that exchange registers
 * within a warp: shfl, vote, match, redux, elect. All lanes of the member mask execute them together:
 * the decoder puts a wait before each. */
#include "machine/events.h"
#include "machine/instructions/operation.h"

enum { UP, DOWN, BFLY, IDX };

/* What the width of CUDA's shuffles becomes is 32 - width in the bits from 8 on. PTX takes any mask there, CUDA
 * only the powers of two. */
static void check_width(Warp *w, const Insn *i, const u32 *c) {
  u32 odd = 0;
  EACH_LANE {
    u32 width = 32 - (u32)((s32)c[l] >> 8);
    odd |= w->lane[l] & (u32)(width - 1 >= 32 || width & (width - 1)) << l;
  }
  if (odd) announce_misused(w, i->pc, first_lane(odd), SHUFFLE_WIDTH, 32 - (u32)((s32)c[first_lane(odd)] >> 8));
}

/* shfl: c holds the clamp in bits 0-4 and the segment mask in bits 8-12; imm: the operand of the member
 * mask + 1, or 0. A lane that does not provide its value is announced, and gives any value. */
void ptx_shfl_b32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), out[LANES], inside = 0;
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b), *c = SRC(u32, i->c);
  check_width(w, i, c);
  for (u32 l = 0; l < LANES; l++) {
    u32 clamp = c[l] & 31, segment = c[l] >> 8 & 31, by = b[l] & 31;
    u32 most = (l & segment) | (clamp & ~segment), least = l & segment;
    s32 j = 0;
    bool in = false;
    switch (i->mode) {
      case UP: j = (s32)l - (s32)by; in = j >= (s32)most; break;
      case DOWN: j = (s32)(l + by); in = j <= (s32)most; break;
      case BFLY: j = (s32)(l ^ by); in = j <= (s32)most; break;
      default: j = (s32)(least | (by & ~segment)); in = j <= (s32)most;
    }
    if (!in) j = (s32)l;
    out[l] = a[j & 31];
    if (j != (s32)l && i->imm && w->lane[l] && !(SRC(u32, (u32)i->imm - 1)[l] & live_lanes(w) & 1u << j)) {
      announce_lane_missing(w, i->pc, l, (u32)j);
      if (w->launch->garbage) out[l] = w->launch->garbage;
    }
    inside |= (u32)in << l;
  }
  for (u32 l = 0; l < LANES; l++) d[l] = w->lane[l] ? out[l] : d[l];
  if (i->flag) {
    u32 *p = DST(u32, i->e);
    *p = (*p & ~w->mask) | (inside & w->mask);
  }
}

/* The active lanes that are in a lane's member mask. A lane outside its own mask, which was announced,
 * counts as a member. */
static u32 party(const Warp *w, const u32 *member, u32 l) {
  return (member[l] | 1u << l) & w->mask;
}

enum { ALL, ANY, UNI, BALLOT };
void ptx_vote(Warp *w, const Insn *i) {
  u32 p = *SRC(u32, i->a) ^ (i->imm ? FULL : 0), yes = 0;
  const u32 *member = SRC(u32, i->b);
  u32 *d = DST(u32, i->d);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m), here = party(w, member, l), votes = p & here;
    bool r = i->mode == ALL ? votes == here : i->mode == ANY ? votes != 0 : votes == here || !votes;
    if (i->mode == BALLOT) d[l] = votes;
    else yes |= (u32)r << l;
  }
  if (i->mode != BALLOT) *d = (*d & ~w->mask) | (yes & w->mask);
}

static u64 value(const Warp *w, const Insn *i, u32 l) {
  return i->width == 8 ? SRC(u64, i->a)[l] : SRC(u32, i->a)[l];
}
/* match.any: the lanes with this lane's value; match.all: the mask if all agree, else 0. */
void ptx_match(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), out[LANES] = {0}, agree = 0;
  const u32 *member = SRC(u32, i->b);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m), here = party(w, member, l), same = 0;
    for (u32 o = here; o; o &= o - 1)
      if (value(w, i, (u32)__builtin_ctz(o)) == value(w, i, l)) same |= o & -o;
    bool all = same == here;
    out[l] = i->mode ? (all ? here : 0) : same;
    agree |= (u32)all << l;
  }
  for (u32 l = 0; l < LANES; l++) d[l] = w->lane[l] ? out[l] : d[l];
  if (i->flag) {
    u32 *p = DST(u32, i->e);
    *p = (*p & ~w->mask) | (agree & w->mask);
  }
}

enum { R_ADD, R_MIN, R_MAX, R_AND, R_OR, R_XOR };
static u32 reduced(u32 x, u32 y, u32 op, bool sign) {
  bool less = sign ? (s32)x < (s32)y : x < y;
  switch (op) {
    case R_ADD: return x + y;
    case R_MIN: return less ? x : y;
    case R_MAX: return less ? y : x;
    case R_AND: return x & y;
    case R_OR: return x | y;
    default: return x ^ y;
  }
}
void ptx_redux(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), out[LANES] = {0};
  const u32 *a = SRC(u32, i->a), *member = SRC(u32, i->b);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m), here = party(w, member, l), r = a[__builtin_ctz(here)];
    for (u32 o = here & (here - 1); o; o &= o - 1) r = reduced(r, a[__builtin_ctz(o)], i->mode, i->flag);
    out[l] = r;
  }
  for (u32 l = 0; l < LANES; l++) d[l] = w->lane[l] ? out[l] : d[l];
}

/* elect.sync d|p: the lowest lane of the mask is elected. */
void ptx_elect(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), *p = DST(u32, i->e), yes = 0;
  const u32 *member = SRC(u32, i->b);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m), first = (u32)__builtin_ctz(party(w, member, l));
    if (i->flag) d[l] = first;
    yes |= (u32)(first == l) << l;
  }
  *p = (*p & ~w->mask) | (yes & w->mask);
}
