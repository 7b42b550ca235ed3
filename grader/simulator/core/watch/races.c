/* Watches memory for data races and uninitialized reads, in kernels whose accesses only full barriers
 * order; races_ordered.c watches the others. */
#include "watch/races.h"

static bool listens(const Launch *n) { return !n->exact; }

static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check_shared_read(w, i, offset, bytes, w->mask);
  else if (r->space == GLOBAL) check_global_read(w, i, r->buffer, offset, bytes);
}

static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check_shared_write(w, i, offset, bytes);
  else if (r->space == GLOBAL) check_global_write(w, i, r->buffer, offset, bytes);
}

static void read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (g->space == SHARED) check_shared_read_rows(w, i, r);
  else check_global_read_rows(w, i, g->buffer, r);
}

static void write_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (g->space == SHARED) check_shared_write_rows(w, i, r);
  else check_global_write_rows(w, i, g->buffer, r);
}

static void start_copy(Warp *w, const Insn *i, const u32 *offset) {
  check_shared_write(w, i, offset, i->size);
}

const Watcher races_watcher = {
    .listens = listens, .read = read, .read_part = read, .write = write, .read_rows = read_rows,
    .write_rows = write_rows, .copy_read = read, .copy_started = start_copy, .copy_completed = start_copy};
