/* Loads through the read-only cache (ld.global.nc, __ldg) of what the kernel itself writes. No barrier or
 * fence makes the write visible to them, not even to the thread that wrote. Explicit ones alone: the
 * optimizer uses such loads where it has proved that nothing is written.
 *
 * Texture fetches too: what was written before them in the same launch they may not see (CUDA C++
 * Programming Guide, "Read/Write Coherency"). A fetch before the write is allowed. */
#include <stdlib.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"
#include "watch/watchers.h"

/* The first load and the first write of a granule: pc + 1, and by which thread. */
typedef struct { u32 pc, block, thread; } First;
typedef struct { First *read, *wrote; } Firsts;

static Firsts *firsts_of(const Worker *k) { return k->state[noncoherent_slot]; }

static bool listens(const Launch *n) { return n->sync & HAS_NONCOHERENT; }

static void make(Worker *k) {
  k->state[noncoherent_slot] = calloc(k->launch->allocations + 1, sizeof(Firsts));
  if (!firsts_of(k)) out_of_memory(k);
}

static void discard(Worker *k) {
  for (u32 b = 0; firsts_of(k) && b < k->launch->allocations; b++) {
    free(firsts_of(k)[b].read);
    free(firsts_of(k)[b].wrote);
  }
  free(firsts_of(k));
}

static bool is_noncoherent(const Insn *i) {
  return i->flag & NONCOHERENT && !(i->flag & (VOLATILE | ACQUIRE | RELEASE | RELAXED));
}

static bool is_fetch(const Insn *i) { return i->exec == ptx_tex || i->exec == ptx_tld4; }

static void report_first(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, const First *f, bool store) {
  u32 flags = STALE_CACHE | (store ? STORE : OTHER_STORE) | (is_fetch(i) ? TEXTURE_CACHE : 0);
  report(w->worker, (Report){.kind = RACE, .flags = flags, .pc = i->pc, .pc2 = f->pc - 1, .space = GLOBAL,
                             .buffer = (u32)(r->buffer - w->launch->buffer), .address = offset,
                             .block = w->cta->number, .block2 = f->block, .thread = thread_of(w, lane),
                             .thread2 = f->thread, .size = (u32)i->size * i->count, .count = 1});
}

static void note(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes, bool store) {
  u32 shift = w->launch->global_shift, number = r->buffer ? (u32)(r->buffer - w->launch->buffer) : 0;
  if (r->space != GLOBAL || number >= w->launch->allocations) return;
  Firsts *f = &firsts_of(w->worker)[number];
  First **mine = store ? &f->wrote : &f->read, *other = store ? f->read : f->wrote;
  bool remembered = !is_fetch(i);
  if (remembered && !*mine) *mine = calloc((r->size >> shift) + 1, sizeof(First));
  if (remembered && !*mine) { out_of_memory(w->worker); return; }
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    bool reported = false;
    for (u32 g = offset[l] >> shift; g <= (offset[l] + bytes - 1) >> shift; g++) {
      if (other && other[g].pc && !reported) report_first(w, i, r, l, offset[l], &other[g], store);
      reported |= other && other[g].pc;
      if (remembered && !(*mine)[g].pc) (*mine)[g] = (First){i->pc + 1, w->cta->number, thread_of(w, l)};
    }
  }
}

static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (is_noncoherent(i) || is_fetch(i)) note(w, i, r, offset, bytes, false);
}
static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  note(w, i, r, offset, bytes, true);
}

const Watcher noncoherent_watcher = {
    .listens = listens, .worker_started = make, .worker_ended = discard, .read = read, .read_part = read,
    .write = write, .atomic = write, .atomic_part = write};
