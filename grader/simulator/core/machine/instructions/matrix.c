/* PTX ISA, "Warp-Level Matrix Instructions": wmma, mma.sync, ldmatrix, stmatrix, movmatrix.
 *
 * A matrix is spread over the registers of a warp. In tiles of 8 rows or columns, lane l holds elements
 * of row (or column) l / 4; the four lanes of such a group share what is left of it, each the elements of
 * one 32-bit register at a time. PTX gives this layout for mma; that of wmma is opaque, and the same here.
 * A fragment of wmma with more registers than elements holds copies.
 *
 * Products and sums are computed in double precision and rounded once, to the nearest. A tensor core adds
 * the products of a block aligned to the largest and cuts off what is below: equal for sums that are
 * exact, else within (k + 1) * 2^-23 * (sum |a * b| + |c|) for f32, with 2^-10 for f16. Matrices of f64 are
 * multiplied by fused multiply-adds in ascending order of k. modified() sets their rounding.
 *
 * Registers of a matrix lie one after the other in scratch registers: the decoder copies them there
 * (gather) and back (scatter). */
#include <math.h>
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/float.h"
#include "machine/memory.h"

enum { VECTOR = 4 * LANES, ROW = 16, MOST = 64, GROUPS = 8, IN_GROUP = 4 };
enum Role { LEFT, RIGHT, RESULT };
enum Type { F16, BF16, TF32, S8, U8, F64, F8_E4M3, F8_E5M2 };
enum { HALF_C = 1, HALF_D = 2, WHOLE_SUM = 4, SATURATES = 8 };

/* width: bytes of a register in a lane. */
void ptx_gather(Warp *w, const Insn *i) {
  const u32 from[] = {i->a, i->b, i->c, i->e}, bytes = i->width * LANES;
  for (u32 k = 0; k < i->count; k++) memcpy(DST(u8, i->d + k * bytes), SRC(u8, from[k]), bytes);
}
void ptx_scatter(Warp *w, const Insn *i) {
  const u32 to[] = {i->d, i->b, i->c, i->e}, bytes = i->width * LANES;
  for (u32 k = 0; k < i->count; k++) {
    const u32 *a = SRC(u32, i->a + k * bytes);
    u32 *d = DST(u32, to[k]);
    if (i->width == 4) {
      EACH_LANE { d[l] = w->lane[l] ? a[l] : d[l]; }
      continue;
    }
    const u64 *wide = SRC(u64, i->a + k * bytes);
    u64 *to_wide = DST(u64, to[k]);
    EACH_LANE { to_wide[l] = w->lane[l] ? wide[l] : to_wide[l]; }
  }
}

/* In the field e of an instruction. */
typedef struct { u32 m, n, k, role; bool by_column; } Tile;
static Tile tile_of(u32 e) { return (Tile){e & 255, e >> 8 & 255, e >> 16 & 255, e >> 24 & 3, e >> 26 & 1}; }

/* Elements of `size` bytes in a register. */
static u32 in_register(u32 size) { return size < 4 ? 4 / size : 1; }

/* How many registers hold a matrix of elements of `size` bytes: of 64 bits for f64, else of 32. */
static u32 registers_of(Tile t, u32 size) {
  u32 elements = t.role == LEFT ? t.m * t.k : t.role == RIGHT ? t.k * t.n : t.m * t.n;
  return elements / (in_register(size) * LANES);
}

/* The row and the column of element j of register r in lane l, where a register holds `each`. */
static void place(Tile t, u32 each, u32 r, u32 j, u32 l, u32 *row, u32 *col) {
  u32 group = l / IN_GROUP, own = l % IN_GROUP, halves = t.m < 16 ? 1 : 2;
  if (t.role == RIGHT) {
    u32 chunks = t.k / (IN_GROUP * each);
    *row = r % chunks * IN_GROUP * each + own * each + j;
    *col = r / chunks * GROUPS + group;
  } else if (t.role == LEFT) {
    u32 in_tile = halves * (t.k / (IN_GROUP * each)), rest = r % in_tile;
    *row = r / in_tile * 16 + rest % halves * 8 + group;
    *col = rest / halves * IN_GROUP * each + own * each + j;
  } else { /* pairs of columns, whether a register holds one element or both */
    u32 x = r * each + j, in_tile = 2 * halves * (t.n / 8), rest = x % in_tile;
    *row = x / in_tile * 16 + rest / 2 % halves * 8 + group;
    *col = rest / 2 / halves * 8 + own * 2 + rest % 2;
  }
}

static void announce_missing(Warp *w, const Insn *i) {
  for (u32 m = ~w->mask; m && w->mask; m &= m - 1) announce_lane_missing(w, i->pc, first_lane(w->mask), first_lane(m));
}

static f64 value_of(u32 bits, enum Type type, u32 j) {
  switch (type) {
    case F16: return half_to_f64((u16)(bits >> 16 * j), 0);
    case BF16: return half_to_f64((u16)(bits >> 16 * j), 1);
    case TF32: return (f64)f32_of(bits & ~0x1FFFu);
    case F8_E4M3: return half_to_f64((u16)widen_float8(bits >> 8 * j & 255, 0), 0);
    case F8_E5M2: return half_to_f64((u16)widen_float8(bits >> 8 * j & 255, E5M2), 0);
    case S8: return (s8)(bits >> 8 * j);
    default: return (u8)(bits >> 8 * j);
  }
}
static const u32 bytes_of[] = {2, 2, 4, 1, 1, 8, 1, 1};

static void read_factor(Warp *w, u32 ref, Tile t, enum Type type, f64 out[MOST][MOST]) {
  u32 each = in_register(bytes_of[type]), registers = registers_of(t, bytes_of[type]), row, col;
  for (u32 r = 0; r < registers; r++) {
    const u32 *a = SRC(u32, ref + r * VECTOR);
    const f64 *wide = SRC(f64, ref + r * 2 * VECTOR);
    for (u32 l = 0; l < LANES; l++)
      for (u32 j = 0; j < each; j++) {
        place(t, each, r, j, l, &row, &col);
        f64 x = type == F64 ? wide[l] : value_of(a[l], type, j);
        out[row][col] = w->lane[l] ? x : x + w->launch->garbage;
      }
  }
}

static f64 addend(u32 bits, u32 flag, u32 j) {
  if (flag & WHOLE_SUM) return (s32)bits;
  return flag & HALF_C ? half_to_f64((u16)(bits >> 16 * j), 0) : (f64)f32_of(bits);
}
static u32 result_bits(f64 x, u32 flag) {
  if (flag & HALF_D) return f64_to_half(x, 0, FE_TONEAREST);
  if (!(flag & WHOLE_SUM)) return x != x ? 0x7FFFFFFF : bits32((f32)x);
  if (flag & SATURATES) x = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
  return (u32)(s64)x;
}

/* The product of matrices of f64: c and d have one element in each 64-bit register. */
void ptx_mma_f64(Warp *w, const Insn *i) {
  static _Thread_local f64 a[MOST][MOST], b[MOST][MOST];
  Tile t = tile_of(i->e), left = t, right = t;
  u32 row, col;
  left.role = LEFT; right.role = RIGHT; t.role = RESULT;
  announce_missing(w, i);
  read_factor(w, i->a, left, F64, a);
  read_factor(w, i->b, right, F64, b);
  for (u32 r = 0; r < registers_of(t, sizeof(f64)); r++)
    for (u32 l = 0; l < LANES; l++) {
      place(t, 1, r, 0, l, &row, &col);
      f64 sum = SRC(f64, i->c + r * 2 * VECTOR)[l];
      for (u32 k = 0; k < t.k; k++) sum = fma(a[row][k], b[k][col], sum);
      DST(f64, i->d + r * 2 * VECTOR)[l] = sum;
    }
}

/* d, a, b, c: scratch registers; e: the shape; mode: the types of a and, << 4, of b. */
void ptx_mma(Warp *w, const Insn *i) {
  static _Thread_local f64 a[MOST][MOST], b[MOST][MOST], sum[MOST][MOST];
  Tile t = tile_of(i->e), left = t, right = t;
  u32 row, col, in = i->flag & HALF_C ? 2 : 1, out = i->flag & HALF_D ? 2 : 1;
  left.role = LEFT; right.role = RIGHT; t.role = RESULT;
  announce_missing(w, i);
  read_factor(w, i->a, left, i->mode & 15, a);
  read_factor(w, i->b, right, i->mode >> 4, b);
  for (u32 r = 0; r < t.m * t.n / LANES / in; r++)
    for (u32 l = 0; l < LANES; l++)
      for (u32 j = 0; j < in; j++) {
        place(t, in, r, j, l, &row, &col);
        sum[row][col] = addend(SRC(u32, i->c + r * VECTOR)[l], i->flag, j);
      }
  for (u32 m = 0; m < t.m; m++)
    for (u32 k = 0; k < t.k; k++)
      for (u32 n = 0; n < t.n; n++) sum[m][n] += a[m][k] * b[k][n];
  for (u32 r = 0; r < t.m * t.n / LANES / out; r++)
    for (u32 l = 0; l < LANES; l++) {
      u32 bits = 0;
      for (u32 j = 0; j < out; j++) {
        place(t, out, r, j, l, &row, &col);
        bits |= result_bits(sum[row][col], i->flag) << 16 * j;
      }
      DST(u32, i->d + r * VECTOR)[l] = bits;
    }
}

/* An access of `bytes` by each active lane at the addresses in the scratch register c. */
static Insn plain_access(const Insn *i, u32 register_ref, u32 bytes) {
  return (Insn){.d = register_ref, .a = i->c, .pc = i->pc, .size = (u16)bytes, .count = 1,
                .space = i->space, .width = bytes == 8 ? 8 : 4, .mode = 8};
}

/* Lines, which are rows or columns, begin at multiples of 16 bytes, or of their length if that is less.
 * False: an access that does not is announced. */
static bool is_aligned(Warp *w, const Insn *i, Tile t, const u32 *stride, u32 flags) {
  u32 rows = t.role == RIGHT ? t.k : t.m, columns = t.role == LEFT ? t.k : t.n;
  u32 line = (t.by_column ? rows : columns) * i->size, bytes = line < ROW ? line : ROW, l = first_lane(w->mask);
  u64 first = lane_address(w, i, l), second = first + (u64)stride[l] * i->size;
  if (!((first | second) & (bytes - 1))) return true;
  announce_invalid(w, i, l, first & (bytes - 1) ? first : second, bytes, flags | MISALIGNED);
  return false;
}

/* All lanes give the same address and the same stride. */
static void check_same(Warp *w, const Insn *i, const u32 *stride) {
  u32 first = first_lane(w->mask);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    bool elsewhere = lane_address(w, i, l) != lane_address(w, i, first);
    if (!elsewhere && stride[l] == stride[first]) continue;
    announce_misused(w, i->pc, l, elsewhere ? MATRIX_ADDRESS : MATRIX_STRIDE, stride[l]);
    return;
  }
}

/* wmma.load and wmma.store: each register is one access, or one for each element where the elements of a
 * register are not next to each other. a: the address; b: the stride; c, d: scratch registers; e: the
 * shape; size: bytes of an element; count: registers. */
static void access(Warp *w, const Insn *i, bool stores) {
  Tile t = tile_of(i->e);
  u32 each = in_register(i->size), own = registers_of(t, i->size), row, col, unit = i->size == 8 ? 8 : 4;
  bool whole = each == 1 || t.by_column == (t.role == RIGHT);
  u64 *at = DST(u64, i->c);
  u32 *value = DST(u32, i->c + 2 * VECTOR);
  const u32 *stride = SRC(u32, i->b);
  if (!w->mask || !is_aligned(w, i, t, stride, stores ? STORE : 0)) return;
  announce_missing(w, i);
  check_same(w, i, stride);
  for (u32 r = 0; r < i->count; r++) {
    u32 *d = DST(u32, i->d + r * unit * LANES);
    if (r >= own) { memcpy(d, DST(u32, i->d + r % own * unit * LANES), unit * LANES); continue; }
    if (!stores) memset(d, 0, unit * LANES);
    for (u32 j = 0; j < (whole ? 1 : each); j++) {
      for (u32 l = 0; l < LANES; l++) {
        place(t, each, r, j, l, &row, &col);
        u64 far = t.by_column ? col : row, near = t.by_column ? row : col;
        at[l] = lane_address(w, i, l) + (far * stride[l] + near) * i->size;
        value[l] = d[l] >> 8 * i->size * j % 32;
      }
      Insn one = whole ? plain_access(i, i->d + r * unit * LANES, unit) : plain_access(i, i->c + 2 * VECTOR, i->size);
      if (stores) { ptx_st(w, &one); continue; }
      ptx_ld(w, &one);
      for (u32 l = 0; l < LANES && !whole; l++) d[l] |= value[l] << 8 * i->size * j;
    }
  }
}
void ptx_wmma_load(Warp *w, const Insn *i) { access(w, i, false); }
void ptx_wmma_store(Warp *w, const Insn *i) { access(w, i, true); }

/* Where lane l's part j of an 8 x 8 matrix of 16-bit elements is: its row, and its byte in the row. */
static void in_matrix(u32 l, u32 j, bool transposed, u32 *row, u32 *byte) {
  *row = transposed ? l % IN_GROUP * 2 + j : l / IN_GROUP;
  *byte = transposed ? l / IN_GROUP * 2 : l % IN_GROUP * 4;
}

/* ldmatrix reads rows of 16 bytes, whose addresses 8 lanes for each matrix hold. The request is theirs;
 * each lane reads the parts that it gets. count: matrices; e: whether they are transposed. */
void ptx_ldmatrix(Warp *w, const Insn *i) {
  u32 whole = w->mask, rows = i->count == 4 ? FULL : (1u << 8 * i->count) - 1, offset[LANES], valid = 0;
  u32 at[LANES] = {0}, part[LANES], row, byte;
  u64 address_of[LANES];
  Insn one = plain_access(i, i->d, ROW);
  Region shared = {.space = GENERIC}, r;
  announce_missing(w, i);
  for (u32 l = 0; l < LANES; l++) address_of[l] = whole >> l & 1 ? lane_address(w, i, l) : lane_address(w, i, first_lane(whole));
  u32 left = drop_misaligned(w, &one, address_of, rows & whole, ROW, 0);
  while (left) {
    u32 group = next_group(w, &one, address_of, &left, ROW, 0, &r, offset);
    if (!group) continue;
    if (r.space != SHARED) { announce_invalid(w, i, first_lane(group), address_of[first_lane(group)], ROW, 0); continue; }
    announce_request(w, &one, &r, offset, ROW);
    for (u32 m = group; m; m &= m - 1) at[first_lane(m)] = offset[first_lane(m)];
    valid |= group;
    shared = r;
  }
  for (u32 q = 0; q < i->count; q++) {
    u32 *d = DST(u32, i->d + q * VECTOR);
    memset(d, 0, VECTOR);
    for (u32 j = 0; j < (i->e ? 2 : 1); j++) {
      u32 readers = 0, bytes = i->e ? 2 : 4;
      for (u32 l = 0; l < LANES; l++) {
        in_matrix(l, j, i->e, &row, &byte);
        if (!(whole >> (q * 8 + row) & 1)) d[l] = w->launch->garbage; /* no lane gives its address */
        part[l] = at[q * 8 + row] + byte;
        readers |= (whole >> l & valid >> (q * 8 + row) & 1) << l;
      }
      if (!readers) continue;
      for (u32 l = 0; l < LANES; l++) part[l] = readers >> l & 1 ? part[l] : part[first_lane(readers)];
      set_mask(w, readers);
      announce_read_part(w, &one, &shared, part, bytes);
      for (u32 m = readers; m; m &= m - 1) {
        u32 l = first_lane(m), x = 0;
        memcpy(&x, shared.data + part[l], bytes);
        d[l] |= x << 16 * j;
      }
    }
  }
  if (w->mask != whole) set_mask(w, whole);
}

/* stmatrix: each lane stores its parts of the rows. */
void ptx_stmatrix(Warp *w, const Insn *i) {
  u64 *at = DST(u64, i->c);
  u32 *value = DST(u32, i->c + 2 * VECTOR), row, byte;
  announce_missing(w, i);
  for (u32 q = 0; q < i->count; q++)
    for (u32 j = 0; j < (i->e ? 2 : 1); j++) {
      u32 odd = LANES;
      for (u32 l = 0; l < LANES; l++) {
        in_matrix(l, j, i->e, &row, &byte);
        u64 start = lane_address(w, i, q * 8 + row);
        if (start & (ROW - 1)) odd = q * 8 + row;
        at[l] = start + byte;
        value[l] = SRC(u32, i->d + q * VECTOR)[l] >> 16 * j;
      }
      if (odd < LANES) { announce_invalid(w, i, odd, lane_address(w, i, odd), ROW, STORE | MISALIGNED); return; }
      Insn one = plain_access(i, i->c + 2 * VECTOR, i->e ? 2 : 4);
      ptx_st(w, &one);
    }
}

/* movmatrix: the transposed 8 x 8 matrix. */
void ptx_movmatrix(Warp *w, const Insn *i) {
  const u32 *a = SRC(u32, i->a);
  u32 *d = DST(u32, i->d), out[LANES] = {0};
  announce_missing(w, i);
  for (u32 l = 0; l < LANES; l++)
    for (u32 j = 0; j < 2; j++) {
      u32 from = (l % IN_GROUP * 2 + j) * IN_GROUP + l / IN_GROUP / 2;
      u32 value = w->lane[from] || !w->launch->garbage ? a[from] : w->launch->garbage;
      out[l] |= (value >> (l / IN_GROUP % 2 ? 16 : 0) & 0xFFFF) << 16 * j;
    }
  EACH_LANE { d[l] = w->lane[l] ? out[l] : d[l]; }
}
