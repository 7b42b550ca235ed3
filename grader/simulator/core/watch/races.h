/* Data races of kernels whose accesses only full barriers order: races_shared.c checks the accesses to
 * shared memory, races_global.c those to global memory. Rows are checked as a whole when granules are
 * words and the case is a frequent one, else lane by lane. */
#ifndef WATCH_RACES_H
#define WATCH_RACES_H
#include "machine/memory.h"
#include "machine/rows.h"
#include "watch/findings.h"
#include "watch/shadow.h"

enum { WORD_SHIFT = 2 };

/* `lanes`: those to check. */
void check_shared_read(Warp *w, const Insn *i, const u32 *offset, u32 bytes, u32 lanes);
void check_shared_write(Warp *w, const Insn *i, const u32 *offset, u32 bytes);
void check_shared_read_rows(Warp *w, const Insn *i, const Rows *r);
void check_shared_write_rows(Warp *w, const Insn *i, const Rows *r);

void check_global_read(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes);
void check_global_write(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes);
void check_global_read_rows(Warp *w, const Insn *i, Buffer *b, const Rows *r);
void check_global_write_rows(Warp *w, const Insn *i, Buffer *b, const Rows *r);

#endif
