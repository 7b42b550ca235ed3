/* PTX ISA, "Data Movement": those that touch no memory; and selection. */
#include "machine/instructions/operation.h"

OP1(mov_b16, u16, u16, a)
OP1(mov_b32, u32, u32, a)
OP1(mov_b64, u64, u64, a)

/* Packing and unpacking: mov.b32 {lo, hi}, r and back. */
OP2(pack_2x8, u16, u16, u16, b << 8 | (a & 255))
OP2(pack_2x16, u32, u16, u16, (u32)b << 16 | a)
OP2(pack_2x32, u64, u32, u32, (u64)b << 32 | a)
void ptx_pack_4x8(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d);
  const u16 *a = SRC(u16, i->a), *b = SRC(u16, i->b), *c = SRC(u16, i->c), *e = SRC(u16, i->e);
  EACH_LANE {
    u32 r = (u32)e[l] << 24 | (c[l] & 255u) << 16 | (b[l] & 255u) << 8 | (a[l] & 255u);
    d[l] = w->lane[l] ? r : d[l];
  }
}
void ptx_pack_4x16(Warp *w, const Insn *i) {
  u64 *d = DST(u64, i->d);
  const u16 *a = SRC(u16, i->a), *b = SRC(u16, i->b), *c = SRC(u16, i->c), *e = SRC(u16, i->e);
  EACH_LANE {
    u64 r = (u64)e[l] << 48 | (u64)c[l] << 32 | (u64)b[l] << 16 | a[l];
    d[l] = w->lane[l] ? r : d[l];
  }
}
OP1(unpack_lo_2x8, u16, u16, a & 255)
OP1(unpack_hi_2x8, u16, u16, a >> 8)
OP1(unpack_0_4x8, u16, u32, a & 255)
OP1(unpack_1_4x8, u16, u32, a >> 8 & 255)
OP1(unpack_2_4x8, u16, u32, a >> 16 & 255)
OP1(unpack_3_4x8, u16, u32, a >> 24)
OP1(unpack_lo_2x16, u16, u32, a)
OP1(unpack_hi_2x16, u16, u32, a >> 16)
OP1(unpack_lo_2x32, u32, u64, a)
OP1(unpack_hi_2x32, u32, u64, a >> 32)
OP1(unpack_0_4x16, u16, u64, a)
OP1(unpack_1_4x16, u16, u64, a >> 16)
OP1(unpack_2_4x16, u16, u64, a >> 32)
OP1(unpack_3_4x16, u16, u64, a >> 48)

/* The address of a function's own local variable: its stack frame's, and the variable's place. */
OP1(local_address_b32, u32, u32, a + LOCAL_START + w->frame[w->top].local + (u32)i->imm)
OP1(local_address_b64, u64, u64, a + LOCAL_START + w->frame[w->top].local + (u64)i->imm)

/* cvta: a window's base is added or taken off; the null pointer stays null. */
OP1(cvta_shared_u64, u64, u64, a + SHARED_BASE)
OP1(cvta_to_shared_u64, u64, u64, a - SHARED_BASE)
OP1(cvta_local_u64, u64, u64, a + LOCAL_BASE + owner_of(w, (u32)l))
OP1(cvta_to_local_u64, u64, u64, without_owner(a) - LOCAL_BASE)
OP1(cvta_param_u64, u64, u64, a + PARAM_BASE)
OP1(cvta_to_param_u64, u64, u64, a - PARAM_BASE)

static u32 lanes_within(Warp *w, u32 a, u64 base, u64 size) {
  const u64 *p = SRC(u64, a);
  u32 r = 0;
  for (int l = 0; l < LANES; l++) r |= (u32)(p[l] - base < size) << l;
  return r;
}
void ptx_isspacep_shared(Warp *w, const Insn *i) { put(w, i, lanes_within(w, i->a, SHARED_BASE, WINDOW)); }
void ptx_isspacep_local(Warp *w, const Insn *i) {
  const u64 *p = SRC(u64, i->a);
  u32 r = 0;
  for (int l = 0; l < LANES; l++) r |= (u32)is_local(p[l]) << l;
  put(w, i, r);
}
void ptx_isspacep_param(Warp *w, const Insn *i) { put(w, i, lanes_within(w, i->a, PARAM_BASE, WINDOW)); }
static u32 lanes_in_buffers(Warp *w, const Insn *i, u32 readonly) {
  const u64 *p = SRC(u64, i->a);
  u32 r = 0;
  for (int l = 0; l < LANES; l++) {
    u64 slot = (p[l] - GLOBAL_BASE) >> SLOT_BITS;
    bool constant = slot < w->launch->buffers && w->launch->buffer[slot].readonly;
    r |= (u32)(p[l] >= GLOBAL_BASE && !is_local(p[l]) && constant == (bool)readonly) << l;
  }
  return r;
}
void ptx_isspacep_global(Warp *w, const Insn *i) { put(w, i, lanes_in_buffers(w, i, 0)); }
void ptx_isspacep_const(Warp *w, const Insn *i) { put(w, i, lanes_in_buffers(w, i, 1)); }

static inline u32 choose(u32 mask, int l, u32 a, u32 b) { return mask >> l & 1 ? a : b; }
void ptx_selp_b16(Warp *w, const Insn *i) {
  u16 *d = DST(u16, i->d);
  const u16 *a = SRC(u16, i->a), *b = SRC(u16, i->b);
  u32 p = *SRC(u32, i->c);
  EACH_LANE { u16 r = (u16)choose(p, l, a[l], b[l]); d[l] = w->lane[l] ? r : d[l]; }
}
void ptx_selp_b32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d);
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b);
  u32 p = *SRC(u32, i->c);
  EACH_LANE { u32 r = choose(p, l, a[l], b[l]); d[l] = w->lane[l] ? r : d[l]; }
}
void ptx_selp_b64(Warp *w, const Insn *i) {
  u64 *d = DST(u64, i->d);
  const u64 *a = SRC(u64, i->a), *b = SRC(u64, i->b);
  u32 p = *SRC(u32, i->c);
  EACH_LANE { u64 r = p >> l & 1 ? a[l] : b[l]; d[l] = w->lane[l] ? r : d[l]; }
}
OP3(slct_b16_s32, u16, u16, u16, s32, c >= 0 ? a : b)
OP3(slct_b32_s32, u32, u32, u32, s32, c >= 0 ? a : b)
OP3(slct_b64_s32, u64, u64, u64, s32, c >= 0 ? a : b)
OP3(slct_b16_f32, u16, u16, u16, f32, c >= 0 ? a : b)
OP3(slct_b32_f32, u32, u32, u32, f32, c >= 0 ? a : b)
OP3(slct_b64_f32, u64, u64, u64, f32, c >= 0 ? a : b)

void ptx_activemask_b32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), now = w->mask;
  EACH_LANE { d[l] = w->lane[l] ? now : d[l]; }
}
void ptx_nop(Warp *w, const Insn *i) { (void)w; (void)i; }
