/* What is known of undefined values: their shadows, and the places where they come from. */
#ifndef WATCH_DEFINEDNESS_H
#define WATCH_DEFINEDNESS_H
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"
#include "watch/shadow.h"

#define ALL_BITS (~0ull)
enum { BYTE = 8, MOST_ORIGINS = 256 };
enum { GIVEN = 0xFFFF }; /* of a value that is HANDED: the origin + 1 of what the caller passes, or 0 */
enum { FROM_MEMORY = 1u << 31, OF_LIBRARY = 1u << 30, HANDED = 1u << 29, OF_ELEMENT = 1u << 28 }; /* see bits_of */

/* Of a warp's local memory. By byte: the lanes in which it is defined as a whole. By byte and lane, from
 * the first byte on that is defined in part: its defined bits. By byte, from the first value on that
 * comes from shared or global memory, or another function: its origin. */
typedef struct { u32 *lanes; u8 *have; u32 *origin, room; } Defined;

/* Where values without a value come from, and what is reported when one is used. Of a load, or an element of a vector
 * load, from shared or global memory: its last undefined read by lane. `kept`: of a store that left them there. `selected`: a permutation
 * selects bytes of them, so that a store to an output uses each of these. By warp, the lanes that have read shared memory so
 * in the present phase, `open`, and those whose last such phase had a write of another thread, which explains the read. */
typedef struct {
  Report report; s64 element; u32 lanes, offset[LANES], open[LANES], explained[LANES]; bool kept, selected;
} Origin;

/* Of shared memory or of a global buffer, by byte; NULL while there are none. Its undefined bits, where the granule as a
 * whole counts as written; the number + 1 of the store that left an undefined value there, and the bytes that have one:
 * all are between `first` and `end`. */
typedef struct { u8 *missing; u16 *from; u32 first, end; } Unset;

/* What a lane's asynchronous copy has read without a value, until it is complete: `from`, its origin; `at`, where it goes to
 * in shared memory, NOWHERE before that is known. */
enum { LONGEST_COPY = 16 };
#define NOWHERE 0xFFFFFFFFu
typedef struct { u64 have[LONGEST_COPY / 8]; u32 from, warp, lane, at; } UnsetCopy;

/* Of a block. */
typedef struct {
  Defined *warp;
  Origin *origin; u32 origins;
  Unset shared, *global;
  u32 buffers;                  /* how many `global` has room for */
  bool any, kept;               /* whether bits are missing in a granule that counts as written, and any `from` is set */
  UnsetCopy *copy; u32 pending, room;
  u32 copies;                   /* the load that comes next only copies, if it is this one + 1 */
} Undefined;

static inline Undefined *undefined_of(const Warp *w) { return w->cta->state[definedness_slot]; }
static inline u64 mask_of(u32 bytes) { return bytes >= 8 ? ALL_BITS : (1ull << BYTE * bytes) - 1; }

/* A shadow is two words, and where its offset is an odd multiple of 8 also the bits by lane: the lanes,
 * and where the missing value comes from. That is the offset + 1 in local memory of the first such lane,
 * FROM_MEMORY + n for the block's origin n, HANDED for an argument or a result, or 0. With OF_LIBRARY: of
 * a variable that belongs to a library; with OF_ELEMENT as well: of an element or member of another one, that a library
 * has read. HANDED and OF_ELEMENT: of a part of an argument or a result. */
static inline u64 *bits_of(const Warp *w, u32 ref) {
  return (ref & 3) == 0 && ref & 8 ? (u64 *)(w->bank[0] + ref + 8) : NULL;
}
static inline u64 have_of(const Warp *w, u32 ref, u32 l) {
  if (*SRC(u32, ref) >> l & 1) return ALL_BITS;
  const u64 *bits = bits_of(w, ref);
  return bits ? bits[l] : 0;
}
static inline bool in_place(u32 from) { return from && !(from & (HANDED | FROM_MEMORY)); }
static inline u32 origin(const Warp *w, u32 ref) { return (ref & 3) == 0 ? SRC(u32, ref)[1] : 0; }

/* definedness.c: memory that keeps what it had and is 0 behind it; the lanes in which some bit of the first bytes is
 * defined; whether code is a library's, or was called by one; what is reported of a use of an undefined register. */
void *grown_to(const void *old, size_t had, size_t want);
u32 touched(const Warp *w, u32 ref, u32 bytes);
bool in_library(const Warp *w, const Insn *i);
Report report_of(const Warp *w, const Insn *i, u32 from, u32 missing);

/* unset_memory.c: where a lane's access that is not to its stack goes to, false: to no shared or global memory; the
 * defined bits there; whether some bytes were never written; the store that left no value there, or 0. Then the origin
 * of a read there, its report, and whether a store left the value there or a permutation has selected it; the origin of
 * what one selects. */
bool memory_at(const Warp *w, const Insn *i, u32 l, Region *r, u32 *offset);
u64 memory_bits(const Warp *w, const Region *r, u32 offset, u32 bytes, bool written);
bool has_unwritten(const Warp *w, const Region *r, u32 offset, u32 bytes);
u32 kept_at(const Warp *w, const Region *r, u32 offset, u64 have);
void note_origin(Warp *w, const Insn *i, u32 l, const Region *r, u32 offset, u32 *from);
void report_origin(Warp *w, u32 from, u32 missing);
bool was_left(const Warp *w, u32 from);
/* At the end of a block: the bits that it leaves undefined in numbers of outputs. */
void report_bits_left(Cta *c);
u32 selected_from(Warp *w, u32 from);
/* The origin of what an instruction leaves in memory, or computes, of an undefined register: what would be reported
 * of it. */
u32 left_by(Warp *w, const Insn *i, u32 from, u32 lanes);
void forget_unset(Undefined *u, const Launch *n);
void discard_unset(Undefined *u);

/* What the watcher does with writes of any kind. */
void clear_written(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes);
void clear_rows(Warp *w, const Insn *i, const Region *g, const Rows *r);
void clear_updated(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now);
void clear_part(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes);
void clear_copied_out(Warp *w, const Insn *i, const u32 *from, const Region *r, const u32 *offset);

/* Asynchronous copies to shared memory, of which those that are followed copy what has no value, too. */
void note_unset_copy(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes);
void place_unset_copy(Warp *w, const Insn *i, const u32 *offset);
void finish_unset_copy(Warp *w, const Insn *i, const u32 *offset);

#endif
