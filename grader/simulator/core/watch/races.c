/* Watches memory for data races and uninitialized reads, in kernels whose accesses only full barriers
 * order; races_ordered.c watches the others. */
#include "machine/instructions/operation.h"
#include "machine/proof.h"
#include "watch/races.h"

static bool listens(const Launch *n) { return !n->exact; }

static void read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (is_reload(i)) return;
  if (r->space == SHARED) check_shared_read(w, i, offset, bytes, w->mask);
  else if (r->space == GLOBAL) check_global_read(w, i, r->buffer, offset, bytes);
}

static void write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check_shared_write(w, i, offset, bytes);
  else if (r->space == GLOBAL) check_global_write(w, i, r->buffer, offset, bytes);
}

static void read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (is_reload(i)) return;
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
    .listens = listens, .blocks = FULL_BLOCKS, .read = read, .read_part = read, .write = write,
    .read_rows = read_rows, .write_rows = write_rows, .copy_read = read, .copy_started = start_copy,
    .copy_completed = start_copy};

/* In reduced blocks of a launch by proof only accesses to global memory are announced. Buffers that all
 * representatives leave as they are, and which have values everywhere, are input: reads of them conflict with
 * nothing, unless a block writes to one after all. */
static void reduced_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!r->buffer->input && !is_reload(i)) check_global_read(w, i, r->buffer, offset, bytes);
}

static void reduced_write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->buffer->input) disprove(w->worker);
  else check_global_write(w, i, r->buffer, offset, bytes);
}

static void reduced_read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (!g->buffer->input && !is_reload(i)) check_global_read_rows(w, i, g->buffer, r);
}

static void reduced_write_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  if (g->buffer->input) disprove(w->worker);
  else check_global_write_rows(w, i, g->buffer, r);
}

const Watcher races_reduced_watcher = {
    .listens = listens, .blocks = REDUCED_BLOCKS, .read = reduced_read, .read_part = reduced_read,
    .write = reduced_write, .read_rows = reduced_read_rows, .write_rows = reduced_write_rows};
