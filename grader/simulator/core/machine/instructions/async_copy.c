/* PTX ISA, "Data Movement": cp.async. The source is read when the copy starts; the bytes are written to
 * shared memory when the thread waits for the copy's group, or makes an mbarrier track its copies. Before
 * that the copy is in flight. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"

enum { LONGEST = 16, MOST_COPIES = 1 << 16 };

/* One execution of cp.async: what each lane copies, and the group it belongs to. */
typedef struct AsyncCopy {
  const Insn *insn;
  u32 mask, offset[LANES], group[LANES];
  u8 data[LANES][LONGEST];
} AsyncCopy;

void free_copies(Cta *c) {
  for (u32 k = 0; c->warp && k < c->warps; k++) free(c->warp[k].copy);
}

void start_copies(Cta *c) {
  for (u32 k = 0; k < c->warps; k++) {
    c->warp[k].copies = 0;
    memset(c->warp[k].groups, 0, sizeof c->warp[k].groups);
  }
}

static AsyncCopy *new_copy(Warp *w, const Insn *i) {
  if (w->copies == MOST_COPIES) { /* the kernel's mistake, on every machine */
    fail(w, TRAPPED, i->pc, MANY_COPIES);
    return NULL;
  }
  if (w->copies == w->copy_room && w->copy_room < MOST_COPIES) {
    u32 room = w->copy_room ? 2 * w->copy_room : 8;
    AsyncCopy *p = realloc(w->copy, room * sizeof(AsyncCopy));
    if (p) { w->copy = p; w->copy_room = room; }
  }
  if (w->copies == w->copy_room) {
    out_of_memory(w->worker);
    return NULL;
  }
  return &w->copy[w->copies];
}

/* Writes the copies of some lanes to shared memory. */
static void complete(Warp *w, AsyncCopy *f, u32 lanes) {
  u32 whole = w->mask, offset[LANES], fill = f->offset[first_lane(lanes)];
  f->mask &= ~lanes;
  set_mask(w, lanes);
  for (u32 l = 0; l < LANES; l++) offset[l] = lanes >> l & 1 ? f->offset[l] : fill;
  announce_copy_completed(w, f->insn, offset);
  w->cta->changes++;
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = first_lane(m);
    memcpy(w->cta->shared + offset[l], f->data[l], f->insn->size);
  }
  set_mask(w, whole);
}

/* Completes the active lanes' copies, except those of their newest `keep` groups. With `barrier`, the
 * offset of each lane's mbarrier in shared memory, these track all of them, in a group or not. */
static void complete_groups(Warp *w, u32 keep, const u32 *barrier) {
  u32 left = 0;
  for (u32 k = 0; k < w->copies; k++) {
    AsyncCopy *f = &w->copy[k];
    u32 ready = 0;
    for (u32 m = f->mask & w->mask; m; m &= m - 1) {
      u32 l = first_lane(m);
      ready |= (u32)(barrier || f->group[l] + keep < w->groups[l]) << l;
    }
    for (u32 m = barrier ? ready : 0; m; m &= m - 1) {
      u32 l = first_lane(m);
      announce_copy_tracked(w, f->insn, l, f->offset[l], barrier[l]);
    }
    if (ready) complete(w, f, ready);
    if (f->mask) w->copy[left++] = *f;
  }
  w->copies = left;
}

void ptx_cp_async_commit_group(Warp *w, const Insn *i) {
  (void)i;
  for (u32 l = 0; l < LANES; l++) w->groups[l] += w->lane[l] & 1;
}
void ptx_cp_async_wait_group(Warp *w, const Insn *i) {
  announce_copies_awaited(w, (u32)i->imm, false);
  complete_groups(w, (u32)i->imm, NULL);
}
void ptx_cp_async_wait_all(Warp *w, const Insn *i) {
  ptx_cp_async_commit_group(w, i);
  announce_copies_awaited(w, 0, true);
  complete_groups(w, 0, NULL);
}
void track_copies(Warp *w, const Insn *i, const u32 *barrier) {
  (void)i;
  complete_groups(w, 0, barrier);
}

static u64 address(Warp *w, u32 ref, u32 width, u32 l) {
  return width == 4 ? SRC(u32, ref)[l] : SRC(u64, ref)[l];
}

/* Reads the source of each lane: size[lane] bytes of global memory; the rest of the copy is zeros. */
static void read_source(Warp *w, const Insn *i, AsyncCopy *f, const u32 *size) {
  Insn read = *i;
  read.space = GLOBAL;
  read.flag = i->used ? FOLLOWED : 0;
  u64 at[LANES];
  u32 offset[LANES], whole = w->mask, left = 0, bytes = i->size;
  for (u32 l = 0; l < LANES; l++) {
    at[l] = address(w, i->b, i->mode >> 4, l) + (u64)(s64)(s32)i->e;
    left |= (u32)(w->lane[l] && size[l]) << l;
  }
  for (u32 l = 0; left && l < LANES; l++)
    if (!(left >> l & 1)) at[l] = at[first_lane(left)];
  memset(f->data, 0, sizeof f->data);
  left = drop_misaligned(w, &read, at, left, bytes, 0);
  while (left) {
    Region r;
    u32 least = bytes, here = left;
    for (u32 m = left; m; m &= m - 1)
      if (size[first_lane(m)] < least) least = size[first_lane(m)];
    for (u32 m = left; m; m &= m - 1)
      if (size[first_lane(m)] != least) here &= ~(m & -m);
    u32 rest = left & ~here, group = next_group(w, &read, at, &here, least, 0, &r, offset);
    left = rest | here;
    if (!group) continue;
    if (r.space == GLOBAL) announce_copy_read(w, &read, &r, offset, least);
    for (u32 m = group; m; m &= m - 1) {
      u32 l = first_lane(m);
      memcpy(f->data[l], r.data + offset[l], least);
    }
  }
  if (w->mask != whole) set_mask(w, whole);
}

static void announce_long_source(Warp *w, const Insn *i, u32 lane, u32 bytes) {
  Insn read = {.pc = i->pc, .size = i->size, .count = 1, .space = GLOBAL};
  announce_invalid(w, &read, lane, address(w, i->b, i->mode >> 4, lane) + (u64)(s64)(s32)i->e, bytes, ODD_SIZE);
}

/* a: destination, b: source; size: bytes of the copy; c: bytes of the source when flag; mode: the
 * width of the destination's address and, << 4, of the source's; imm and e their displacements; used: 1 where what it reads
 * may have no value, and is followed to its use. */
void ptx_cp_async(Warp *w, const Insn *i) {
  u32 whole = w->mask, size[LANES], bytes = i->size;
  u64 to[LANES];
  AsyncCopy *f = new_copy(w, i);
  if (!f) return;
  w->cta->changes++;
  *f = (AsyncCopy){.insn = i};
  for (u32 l = 0; l < LANES; l++) {
    u32 n = i->flag ? SRC(u32, i->c)[l] : bytes;
    size[l] = n < bytes ? n : bytes;
    if (n > bytes && w->lane[l]) announce_long_source(w, i, l, n);
    to[l] = address(w, i->a, i->mode & 15, l) + (u64)i->imm;
    f->group[l] = w->groups[l];
  }
  for (u32 l = 0; l < LANES; l++)
    if (!w->lane[l]) to[l] = to[first_lane(whole)];
  read_source(w, i, f, size);
  Insn write = *i;
  u32 left = drop_misaligned(w, &write, to, whole, bytes, STORE), offset[LANES];
  while (left) {
    Region r;
    u32 group = next_group(w, &write, to, &left, bytes, STORE, &r, offset);
    if (!group || r.space != SHARED) continue;
    announce_copy_started(w, i, offset);
    for (u32 m = group; m; m &= m - 1) f->offset[first_lane(m)] = offset[first_lane(m)];
    f->mask |= group;
  }
  if (w->mask != whole) set_mask(w, whole);
  if (f->mask) w->copies++;
}

/* Copies 16 bytes for the active lane. False: an address is not valid. */
static bool copy_row(Warp *w, const Insn *i, u64 from, u64 to, u32 barrier) {
  Insn read = {.exec = i->exec, .pc = i->pc, .size = LONGEST, .count = 1, .space = GLOBAL}, write = read;
  read.flag = i->used ? FOLLOWED : 0;
  u64 source[LANES], target[LANES];
  u32 from_offset[LANES], offset[LANES], lane = first_lane(w->mask), reading = w->mask, writing = w->mask;
  Region r, s;
  write.space = SHARED;
  for (u32 l = 0; l < LANES; l++) { source[l] = from; target[l] = to; }
  if (!next_group(w, &read, source, &reading, LONGEST, 0, &r, from_offset)) return false;
  if (!next_group(w, &write, target, &writing, LONGEST, STORE, &s, offset)) return false;
  if (r.space == GLOBAL) announce_copy_read(w, &read, &r, from_offset, LONGEST);
  announce_copy_started(w, &write, offset);
  announce_copy_tracked(w, &write, lane, offset[0], barrier);
  announce_copy_completed(w, &write, offset);
  w->cta->changes++;
  memcpy(s.data + offset[0], r.data + from_offset[0], LONGEST);
  return true;
}

/* Announces why a copy cannot run: its target, its source or its size is no multiple of 16. */
static void announce_odd(Warp *w, const Insn *i, u32 lane, u64 from, u64 to, u32 bytes) {
  Insn access = {.pc = i->pc, .size = LONGEST, .count = 1, .space = SHARED};
  if (to & (LONGEST - 1)) {
    announce_invalid(w, &access, lane, to, LONGEST, MISALIGNED | STORE);
  } else if (from & (LONGEST - 1)) {
    access.space = GLOBAL;
    announce_invalid(w, &access, lane, from, LONGEST, MISALIGNED);
  } else {
    announce_invalid(w, &access, lane, to, bytes, ODD_SIZE | STORE);
  }
}

/* cp.async.bulk from global to shared memory: the mbarrier tracks the copy, and what it waits for is less by
 * its bytes when it is complete. The simulated copy is complete at once, and other threads see it after
 * they waited. a: destination; b: source; c: bytes; e: mbarrier; imm: displacements of the destination and,
 * << 32, of the mbarrier; d: that of the source; mode: the widths of the addresses, 2 bits / 4 each. */
void ptx_cp_async_bulk(Warp *w, const Insn *i) {
  u32 whole = w->mask;
  for (u32 m = whole; m && !w->worker->stop; m &= m - 1) {
    u32 l = first_lane(m), bytes = SRC(u32, i->c)[l], done = 0;
    u64 to = address(w, i->a, 4u << (i->mode & 1), l) + (u64)(s64)(s32)i->imm;
    u64 from = address(w, i->b, 4u << (i->mode >> 1 & 1), l) + (u64)(s64)(s32)i->d;
    u64 barrier = address(w, i->e, 4u << (i->mode >> 2 & 1), l) + (u64)(i->imm >> 32);
    u64 odd = (to | from | bytes) & (LONGEST - 1);
    set_mask(w, 1u << l);
    if (odd) announce_odd(w, i, l, from, to, bytes);
    while (!odd && done < bytes && copy_row(w, i, from + done, (u32)to + done, (u32)barrier)) done += LONGEST;
    complete_transaction(w, i, barrier, bytes);
  }
  set_mask(w, whole);
}

/* Copies 16 bytes out of shared memory for the active lane. False: an address is not valid. */
static bool copy_row_out(Warp *w, const Insn *i, u64 from, u64 to) {
  Insn read = {.exec = i->exec, .pc = i->pc, .size = LONGEST, .count = 1, .space = SHARED}, write = read;
  u64 source[LANES], target[LANES];
  u32 offset[LANES], to_offset[LANES], reading = w->mask, writing = w->mask;
  Region s, r;
  write.space = GLOBAL;
  for (u32 l = 0; l < LANES; l++) { source[l] = from; target[l] = to; }
  if (!next_group(w, &read, source, &reading, LONGEST, 0, &s, offset)) return false;
  if (!next_group(w, &write, target, &writing, LONGEST, STORE, &r, to_offset)) return false;
  announce_copied_out(w, &write, offset, &r, to_offset);
  w->worker->changes++;
  memcpy(r.data + to_offset[0], s.data + offset[0], LONGEST);
  return true;
}

/* cp.async.bulk from shared to global memory. Its group tells when it has read its source, and when it is complete;
 * here it is at once. a: destination; b: source; c: bytes; imm, d: their displacements; mode: the widths of the
 * addresses, 2 bits / 4 each. */
void ptx_cp_async_bulk_out(Warp *w, const Insn *i) {
  u32 whole = w->mask;
  for (u32 m = whole; m && !w->worker->stop; m &= m - 1) {
    u32 l = first_lane(m), bytes = SRC(u32, i->c)[l], done = 0;
    u64 to = address(w, i->a, 4u << (i->mode & 1), l) + (u64)i->imm;
    u64 from = (u32)(address(w, i->b, 4u << (i->mode >> 1 & 1), l) + (u64)(s64)(s32)i->d);
    u64 odd = (to | from | bytes) & (LONGEST - 1);
    set_mask(w, 1u << l);
    if (odd) announce_odd(w, i, l, to, from, bytes);
    while (!odd && done < bytes && copy_row_out(w, i, from + done, to + done)) done += LONGEST;
  }
  set_mask(w, whole);
}

/* mode: whether it commits a group, else it waits for all but the newest imm ones. */
void ptx_cp_async_bulk_group(Warp *w, const Insn *i) { announce_bulk_grouped(w, i->mode, (u32)i->imm); }

void ptx_fence_proxy(Warp *w, const Insn *i) { announce_proxy_fenced(w, i->pc); }
