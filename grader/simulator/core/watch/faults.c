/* Faults: what CUDA answers with an error at one thread's instruction, and what leaves a part of a local variable for
 * its neighbor. Accesses outside every buffer, misaligned, or of freed memory; traps, stack overflow and bad jumps; failed assertions; and the ends
 * that the simulator sets, to steps and to time. */
#include <string.h>
#include "machine/control.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"

/* A place in the stack, as that of the variable that is there: see diagnose/findings.py. */
static void add_variable(const Warp *w, s64 at, Report *r) {
  for (const Frame *f = &w->frame[w->top];; f = &w->frame[f->parent]) {
    if (at >= f->local) {
      r->extra = f->function + 1;
      r->buffer = (u32)(at - f->local);
      r->address = r->buffer;
    }
    if (at >= f->local || f->parent == NO_FRAME) return;
  }
}

void report_invalid(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes, u32 flags) {
  const Launch *n = w->launch;
  u64 slot = (address - GLOBAL_BASE) >> SLOT_BITS;
  u64 plain = without_owner(address);
  bool global = i->space == GLOBAL || i->space == GENERIC || i->space == CONST;
  bool known = global && address >= GLOBAL_BASE && slot < n->buffers;
  Report r = {.kind = INVALID, .flags = flags, .pc = i->pc, .space = i->space, .size = bytes,
              .block = w->cta->number, .thread = thread_of(w, lane), .address = address, .count = 1};
  if (address & FOREIGN_MARK && !(address & LOCAL_MARK)) {
    r.flags |= FOREIGN_SHARED;
    r.space = SHARED;
    r.address = (address & ~FOREIGN_MARK) - SHARED_BASE;
  } else if (i->space == SHARED || address + WINDOW - SHARED_BASE < LOCAL_BASE - SHARED_BASE) {
    r.space = SHARED; /* also before its start, and at any index of 32 bits */
    r.address = i->space == SHARED ? (u64)(s64)(s32)(u32)address : address - SHARED_BASE;
  } else if (i->space == LOCAL || is_near_local(plain)) {
    r.space = LOCAL;
    r.flags |= UNKNOWN_BUFFER; /* apart from the report that names the array */
    r.address = plain;
    u64 stack = (i->space == LOCAL ? 0 : LOCAL_BASE) + LOCAL_START;
    if (i->space == GLOBAL || flags & (NOT_GLOBAL | MISALIGNED)) add_variable(w, (s64)(plain - stack), &r);
  } else if (known) {
    r.space = GLOBAL;
    r.buffer = (u32)slot;
    r.address = address - n->buffer[slot].base;
    if (n->buffer[slot].dead) {
      r.flags |= FREED;
      r.pc2 = n->buffer[slot].dead - 1;
    }
    if (slot >= n->allocations) {
      r.flags |= HEAP;
      r.extra = (u32)n->buffer[slot].size;
      r.buffer = n->allocations; /* one report for all allocations of a size */
    }
  } else {
    r.flags |= UNKNOWN_BUFFER;
  }
  if (i->space == GLOBAL && r.space != GLOBAL) r.flags |= NOT_GLOBAL;
  report(w->worker, r);
}

static void report_misprint(Warp *w, const Insn *i, u32 lane, u32 what) {
  report(w->worker, (Report){.kind = MISPRINTED, .pc = i->pc, .block = w->cta->number, .thread = thread_of(w, lane),
                             .count = 1, .extra = what});
}

/* Before an access at an index of an array in a local variable. a: the index in bytes, to which imm is added; b: the
 * array's bytes; c: its number. */
void ptx_shadow_index(Warp *w, const Insn *i) {
  const u64 *p = SRC(u64, i->a);
  u64 most = (u64)i->b - i->size;
  bool out = false;
  EACH_LANE { out |= w->lane[l] && p[l] + (u64)i->imm > most; }
  for (u32 m = out ? w->mask : 0; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 at = p[l] + (u64)i->imm;
    if (at <= most) continue;
    report(w->worker, (Report){.kind = INVALID, .flags = i->flag | INNER_ARRAY, .pc = i->pc, .space = LOCAL,
                               .size = i->size, .buffer = i->c, .block = w->cta->number, .thread = thread_of(w, l),
                               .count = 1, .extra = w->frame[w->top].function + 1, .address = at});
  }
}

/* In each round of the loop of a memcpy. a, b: to where and from where; c: how many bytes; e: the round. */
void ptx_shadow_overlap(Warp *w, const Insn *i) {
  const u64 *to = SRC(u64, i->a), *from = SRC(u64, i->b), *bytes = SRC(u64, i->c), *round = SRC(u64, i->e);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 apart = to[l] > from[l] ? to[l] - from[l] : from[l] - to[l];
    if (round[l] || !apart || apart >= bytes[l]) continue;
    report(w->worker, (Report){.kind = OVERLAPPED, .pc = i->pc, .block = w->cta->number, .thread = thread_of(w, l),
                               .count = 1, .size = (u32)bytes[l], .extra = (u32)(bytes[l] - apart)});
  }
}

/* Before an access in a line with a constant subscript that the compiler knows to be outside its array: it is executed. */
void ptx_shadow_subscript(Warp *w, const Insn *i) {
  report(w->worker, (Report){.kind = INVALID, .flags = i->flag | KNOWN_OUTSIDE, .pc = i->pc, .space = LOCAL,
                             .size = i->size, .block = w->cta->number, .count = (u64)__builtin_popcount(w->mask),
                             .thread = thread_of(w, first_lane(w->mask))});
}

static void report_image_fault(Warp *w, const Insn *i, u32 lane, u32 number, u32 fault, u64 at) {
  u32 flags = IMAGE_OBJECT | (i->exec == ptx_sust ? STORE : 0);
  report(w->worker, (Report){.kind = INVALID, .flags = flags, .pc = i->pc, .space = GLOBAL, .buffer = number,
                             .size = (u32)i->size * i->count, .block = w->cta->number, .extra = fault,
                             .thread = thread_of(w, lane), .address = at, .count = 1});
}

/* The mbarrier that a warp waits for when the launch ends. `extra`: the missing arrivals, of `size`; where none is missing,
 * BYTES_MISSING, and `size` is the bytes that copies have not brought, negative where they brought too many. */
enum { AT_MBARRIER = 1, ALL_ARRIVED = 4 };
#define BYTES_MISSING (1u << 31)
static void add_mbarrier(const Warp *w, Report *r) {
  u32 offset = w->tested - 1, expected = 0, missing = 0;
  counts_of(w->cta, offset, &expected, &missing);
  r->space = SHARED;
  r->pc2 = initialized_at(w->cta, offset);
  r->address = r->buffer = offset; /* reports of several mbarriers differ */
  r->flags = AT_MBARRIER | (missing && all_have_arrived(w->cta, offset) ? ALL_ARRIVED : 0);
  r->size = missing ? expected : (u32)pending_bytes(w->cta, offset);
  r->extra = missing ? missing : BYTES_MISSING;
}

/* The value that a loop waits to change when all threads stand still, or that it read last when a limit ends it: its
 * size, and in `extra` the value; in `size` at a limit. */
enum { AWAITED = 2, LANES_WAIT = 8, UNSTARTED = 16, RECENT = 1 << 12 }; /* UNSTARTED: so are other blocks, for which there is no room */
static void add_awaited(const Warp *w, Report *r) {
  const Insn *i = w->strong;
  u64 address = without_owner(w->strong_at);
  Region at = region_of(w, i->space, address);
  u64 offset = address - at.base;
  u32 bytes = i->size, lane = w->mask ? first_lane(w->mask) : 0;
  s64 value = 0;
  if ((at.space != SHARED && at.space != GLOBAL && at.space != LOCAL) || (bytes != 4 && bytes != 8)) return;
  if (at.size < bytes || offset > at.size - bytes) return;
  memcpy(&value, lane_data(w, &at, lane) + offset, bytes);
  if (bytes == 8 && value != (s32)value) return; /* the report has no room for it */
  r->flags = AWAITED;
  r->space = at.space;
  r->buffer = at.space == GLOBAL ? (u32)(at.buffer - w->launch->buffer) : 0;
  r->address = offset - (at.space == LOCAL ? w->frame[w->top].local : 0);
  r->size = 4;
  r->extra = (u32)value;
}

static void report_fault(Warp *w, u32 kind, u32 pc, u32 extra) {
  Report r = {.kind = kind, .pc = pc, .block = w->cta->number, .extra = extra,
              .thread = thread_of(w, w->mask ? first_lane(w->mask) : 0), .count = 1};
  bool recent = w->strong && w->steps - w->strong_steps < RECENT, ended = (kind == LIMIT || kind == TIMEOUT) && !extra;
  if ((kind == STANDSTILL || kind == LIMIT) && w->tested) add_mbarrier(w, &r);
  else if (recent && (kind == STANDSTILL || (ended && w->strong->space != LOCAL))) add_awaited(w, &r);
  if (kind == STANDSTILL && r.flags == AWAITED && w->waits) { /* lanes wait at a barrier for those in the loop */
    r.flags |= LANES_WAIT;
    r.pc2 = w->wait[0].pc;
  }
  if (kind == STANDSTILL && has_unstarted(w->worker)) r.flags |= UNSTARTED;
  if (ended && r.flags == AWAITED) {
    r.pc2 = w->strong->pc;
    r.size = r.extra;
    r.extra = extra; /* 0 says that no loop is proven endless */
  }
  report(w->worker, r);
}

static void report_assertion(Warp *w, const Insn *i, u64 text) {
  u64 slot = (text - GLOBAL_BASE) >> SLOT_BITS;
  bool known = text >= GLOBAL_BASE && slot < w->launch->buffers;
  report(w->worker, (Report){.kind = ASSERTION, .pc = i->pc, .block = w->cta->number,
                             .thread = thread_of(w, first_lane(w->mask)),
                             .count = (u64)__builtin_popcount(w->mask),
                             .space = GLOBAL, .buffer = known ? (u32)slot : 0xFFFFFFFF,
                             .address = known ? text - w->launch->buffer[slot].base : 0});
}

const Watcher faults_watcher = {
    .invalid = report_invalid, .image_fault = report_image_fault, .fault = report_fault, .assertion = report_assertion,
    .misprint = report_misprint};
