// The scalar video instructions, and those on bytes and halves with selectors and masks, by inline assembly.
#include <cstdint>

#define VIDEO(NAME, TEXT)                                                                            \
  extern "C" __global__ void NAME(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) { \
    int t = threadIdx.x;                                                                             \
    unsigned r;                                                                                      \
    asm volatile(TEXT : "=r"(r) : "r"(a[t]), "r"(b[t]), "r"(c[t]));                                  \
    d[t] = r;                                                                                        \
  }

// kernel vadd_uuu grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((a.astype(np.int64) >> 0 & 4294967295) + (b.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vadd_uuu, "vadd.u32.u32.u32 %0, %1, %2;")

// kernel vadd_sus_sat_ab0_bh0 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.clip(((a.astype(np.int64) >> 0 & 255) + (((b.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768)), -2147483648, 2147483647) & 0xFFFFFFFF
VIDEO(vadd_sus_sat_ab0_bh0, "vadd.s32.u32.s32.sat %0, %1.b0, %2.h0;")

// kernel vadd_uss_sat_add grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.clip(((((a.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648) + (((b.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648)), 0, 4294967295) + (c.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vadd_uss_sat_add, "vadd.u32.s32.s32.sat.add %0, %1, %2, %3;")

// kernel vadd_uuu_sat_db2_ab1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((np.clip(((a.astype(np.int64) >> 8 & 255) + (b.astype(np.int64) >> 0 & 4294967295)), 0, 255) << 16 & 16711680) | (c.astype(np.int64) & 4278255615))
VIDEO(vadd_uuu_sat_db2_ab1, "vadd.u32.u32.u32.sat %0.b2, %1.b1, %2, %3;")

// kernel vsub_ssu_sat_ah1_bh1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.clip(((((a.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768) - (b.astype(np.int64) >> 16 & 65535)), -2147483648, 2147483647) & 0xFFFFFFFF
VIDEO(vsub_ssu_sat_ah1_bh1, "vsub.s32.s32.u32.sat %0, %1.h1, %2.h1;")

// kernel vsub_uuu grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((a.astype(np.int64) >> 0 & 4294967295) - (b.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vsub_uuu, "vsub.u32.u32.u32 %0, %1, %2;")

// kernel vabsdiff_sss_sat_dh0_ab0_bb2 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((np.clip(np.abs((((a.astype(np.int64) >> 0 & 255) ^ 128) - 128) - (((b.astype(np.int64) >> 16 & 255) ^ 128) - 128)), -32768, 32767) << 0 & 65535) | (c.astype(np.int64) & 4294901760))
VIDEO(vabsdiff_sss_sat_dh0_ab0_bb2, "vabsdiff.s32.s32.s32.sat %0.h0, %1.b0, %2.b2, %3;")

// kernel vabsdiff_uuu_add_ab3_bb1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.abs((a.astype(np.int64) >> 24 & 255) - (b.astype(np.int64) >> 8 & 255)) + (c.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vabsdiff_uuu_add_ab3_bb1, "vabsdiff.u32.u32.u32.add %0, %1.b3, %2.b1, %3;")

// kernel vabsdiff_usu grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.abs((((a.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648) - (b.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vabsdiff_usu, "vabsdiff.u32.s32.u32 %0, %1, %2;")

// kernel vmin_sss_sat_add grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.clip(np.minimum((((a.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648), (((b.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648)), -2147483648, 2147483647) + (((c.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648)) & 0xFFFFFFFF
VIDEO(vmin_sss_sat_add, "vmin.s32.s32.s32.sat.add %0, %1, %2, %3;")

// kernel vmax_sus_min_bb3 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.minimum(np.maximum((a.astype(np.int64) >> 0 & 4294967295), (((b.astype(np.int64) >> 24 & 255) ^ 128) - 128)), (((c.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648)) & 0xFFFFFFFF
VIDEO(vmax_sus_min_bb3, "vmax.s32.u32.s32.min %0, %1, %2.b3, %3;")

// kernel vmax_uuu_ab0_bb0 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.maximum((a.astype(np.int64) >> 0 & 255), (b.astype(np.int64) >> 0 & 255)) & 0xFFFFFFFF
VIDEO(vmax_uuu_ab0_bb0, "vmax.u32.u32.u32 %0, %1.b0, %2.b0;")

// kernel vshl_uuu_clamp_bb0 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((a.astype(np.int64) >> 0 & 4294967295) << np.minimum((b.astype(np.int64) >> 0 & 255), 32)) & 0xFFFFFFFF
VIDEO(vshl_uuu_clamp_bb0, "vshl.u32.u32.u32.clamp %0, %1, %2.b0;")

// kernel vshr_uuu_clamp grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((a.astype(np.int64) >> 0 & 4294967295) >> np.minimum((b.astype(np.int64) >> 0 & 4294967295), 32)) & 0xFFFFFFFF
VIDEO(vshr_uuu_clamp, "vshr.u32.u32.u32.clamp %0, %1, %2;")

// kernel vshr_ssu_wrap_add_bh1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (((((a.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648) >> ((b.astype(np.int64) >> 16 & 65535) & 31)) + (((c.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648)) & 0xFFFFFFFF
VIDEO(vshr_ssu_wrap_add_bh1, "vshr.s32.s32.u32.wrap.add %0, %1, %2.h1, %3;")

// kernel vshr_ssu_clamp_db1_ah0 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((((((a.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768) >> np.minimum((b.astype(np.int64) >> 0 & 4294967295), 32)) << 8 & 65280) | (c.astype(np.int64) & 4294902015))
VIDEO(vshr_ssu_clamp_db1_ah0, "vshr.s32.s32.u32.clamp %0.b1, %1.h0, %2, %3;")

// kernel vset_su_lt grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((((a.astype(np.int64) >> 0 & 4294967295) ^ 2147483648) - 2147483648) < (b.astype(np.int64) >> 0 & 4294967295)).astype(np.int64) & 0xFFFFFFFF
VIDEO(vset_su_lt, "vset.s32.u32.lt %0, %1, %2;")

// kernel vset_uu_ne_add_bh1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (((a.astype(np.int64) >> 0 & 4294967295) != (b.astype(np.int64) >> 16 & 65535)).astype(np.int64) + (c.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vset_uu_ne_add_bh1, "vset.u32.u32.ne.add %0, %1, %2.h1, %3;")

// kernel vset_ss_ge_db3_ab2_bb2 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((((((a.astype(np.int64) >> 16 & 255) ^ 128) - 128) >= (((b.astype(np.int64) >> 16 & 255) ^ 128) - 128)).astype(np.int64) << 24 & 4278190080) | (c.astype(np.int64) & 16777215))
VIDEO(vset_ss_ge_db3_ab2_bb2, "vset.s32.s32.ge %0.b3, %1.b2, %2.b2, %3;")

// kernel vset_us_eq_max_ab0_bb1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.maximum(((a.astype(np.int64) >> 0 & 255) == (((b.astype(np.int64) >> 8 & 255) ^ 128) - 128)).astype(np.int64), (c.astype(np.int64) >> 0 & 4294967295)) & 0xFFFFFFFF
VIDEO(vset_us_eq_max_ab0_bb1, "vset.u32.s32.eq.max %0, %1.b0, %2.b1, %3;")

// kernel vmad_words grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = [(int(u) * int(v) + int(w)) & 0xFFFFFFFF for u, v, w in zip((a.astype(np.int64) >> 0 & 4294967295), (b.astype(np.int64) >> 0 & 4294967295), c)]
VIDEO(vmad_words, "vmad.u32.u32.u32 %0, %1, %2, %3;")

// kernel vmad_negated grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = [((-int(u) * int(v) + int(np.int32(np.uint32(w)))) >> 7) & 0xFFFFFFFF for u, v, w in zip((((a.astype(np.int64) >> 8 & 255) ^ 128) - 128), (((b.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768), c)]
VIDEO(vmad_negated, "vmad.s32.s32.s32.shr7 %0, -%1.b1, %2.h1, %3;")

// kernel vmad_twice_negated grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = [max(-2147483648, min(2147483647, (int(u) * int(v) + int(np.int32(np.uint32(w)))))) & 0xFFFFFFFF for u, v, w in zip((((a.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768), (((b.astype(np.int64) >> 24 & 255) ^ 128) - 128), c)]
VIDEO(vmad_twice_negated, "vmad.s32.s32.s32.sat %0, -%1.h0, -%2.b3, %3;")

// kernel vadd4_uuu_ab3210_bb4444 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (((a.astype(np.int64) >> 0 & 255) + (b.astype(np.int64) >> 0 & 255)) << 0 & 255) + (((a.astype(np.int64) >> 8 & 255) + (b.astype(np.int64) >> 0 & 255)) << 8 & 65280) + (((a.astype(np.int64) >> 16 & 255) + (b.astype(np.int64) >> 0 & 255)) << 16 & 16711680) + (((a.astype(np.int64) >> 24 & 255) + (b.astype(np.int64) >> 0 & 255)) << 24 & 4278190080)
VIDEO(vadd4_uuu_ab3210_bb4444, "vadd4.u32.u32.u32 %0, %1.b3210, %2.b4444, %3;")

// kernel vadd2_sss_sat_dh1 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (c.astype(np.int64) & 65535) + (np.clip(((((a.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768) + (((b.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768)), -32768, 32767) << 16 & 4294901760)
VIDEO(vadd2_sss_sat_dh1, "vadd2.s32.s32.s32.sat %0.h1, %1, %2, %3;")

// kernel vsub4_sus_sat_db310_ab0123_bb7070 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.clip(((a.astype(np.int64) >> 24 & 255) - (((a.astype(np.int64) >> 0 & 255) ^ 128) - 128)), -128, 127) << 0 & 255) + (np.clip(((a.astype(np.int64) >> 16 & 255) - (((b.astype(np.int64) >> 24 & 255) ^ 128) - 128)), -128, 127) << 8 & 65280) + (c.astype(np.int64) & 16711680) + (np.clip(((a.astype(np.int64) >> 0 & 255) - (((b.astype(np.int64) >> 24 & 255) ^ 128) - 128)), -128, 127) << 24 & 4278190080)
VIDEO(vsub4_sus_sat_db310_ab0123_bb7070, "vsub4.s32.u32.s32.sat %0.b310, %1.b0123, %2.b7070, %3;")

// kernel vabsdiff4_uuu_sum_db20 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = np.abs((a.astype(np.int64) >> 0 & 255) - (b.astype(np.int64) >> 0 & 255)) + np.abs((a.astype(np.int64) >> 16 & 255) - (b.astype(np.int64) >> 16 & 255)) + c.astype(np.int64) & 0xFFFFFFFF
VIDEO(vabsdiff4_uuu_sum_db20, "vabsdiff4.u32.u32.u32.add %0.b20, %1, %2, %3;")

// kernel vmin2_sss_ah13_bh20 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.minimum((((b.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768), (((a.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768)) << 0 & 65535) + (np.minimum((((a.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768), (((b.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768)) << 16 & 4294901760)
VIDEO(vmin2_sss_ah13_bh20, "vmin2.s32.s32.s32 %0, %1.h13, %2.h20, %3;")

// kernel vavrg4_sss_db3_bb0000 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (c.astype(np.int64) & 255) + (c.astype(np.int64) & 65280) + (c.astype(np.int64) & 16711680) + ((((((a.astype(np.int64) >> 24 & 255) ^ 128) - 128) + (((a.astype(np.int64) >> 0 & 255) ^ 128) - 128) + ((((a.astype(np.int64) >> 24 & 255) ^ 128) - 128) + (((a.astype(np.int64) >> 0 & 255) ^ 128) - 128) >= 0)) >> 1) << 24 & 4278190080)
VIDEO(vavrg4_sss_db3_bb0000, "vavrg4.s32.s32.s32 %0.b3, %1, %2.b0000, %3;")

// kernel vmax4_uuu_db210 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (np.maximum((a.astype(np.int64) >> 0 & 255), (b.astype(np.int64) >> 0 & 255)) << 0 & 255) + (np.maximum((a.astype(np.int64) >> 8 & 255), (b.astype(np.int64) >> 8 & 255)) << 8 & 65280) + (np.maximum((a.astype(np.int64) >> 16 & 255), (b.astype(np.int64) >> 16 & 255)) << 16 & 16711680) + (c.astype(np.int64) & 4278190080)
VIDEO(vmax4_uuu_db210, "vmax4.u32.u32.u32 %0.b210, %1, %2, %3;")

// kernel vset4_uu_lt grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = (((a.astype(np.int64) >> 0 & 255) < (b.astype(np.int64) >> 0 & 255)).astype(np.int64) << 0 & 255) + (((a.astype(np.int64) >> 8 & 255) < (b.astype(np.int64) >> 8 & 255)).astype(np.int64) << 8 & 65280) + (((a.astype(np.int64) >> 16 & 255) < (b.astype(np.int64) >> 16 & 255)).astype(np.int64) << 16 & 16711680) + (((a.astype(np.int64) >> 24 & 255) < (b.astype(np.int64) >> 24 & 255)).astype(np.int64) << 24 & 4278190080)
VIDEO(vset4_uu_lt, "vset4.u32.u32.lt %0, %1, %2, %3;")

// kernel vset2_su_ge_sum grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((((a.astype(np.int64) >> 0 & 65535) ^ 32768) - 32768) >= (b.astype(np.int64) >> 0 & 65535)).astype(np.int64) + ((((a.astype(np.int64) >> 16 & 65535) ^ 32768) - 32768) >= (b.astype(np.int64) >> 16 & 65535)).astype(np.int64) + c.astype(np.int64) & 0xFFFFFFFF
VIDEO(vset2_su_ge_sum, "vset2.s32.u32.ge.add %0, %1, %2, %3;")

// kernel vset4_ss_ne_sum_ab7654_bb3210 grid 1 block 128
// in a uint32 = np.concatenate([np.tile([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF8000, 31], 4), rng.integers(0, 2**32, 96)])
// in b uint32 = np.concatenate([np.repeat([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F8001FE, 33, 0x20], 4), rng.integers(0, 2**32, 96)])
// in c uint32 = rng.integers(0, 2**32, 128)
// out d uint32 = ((((b.astype(np.int64) >> 0 & 255) ^ 128) - 128) != (((a.astype(np.int64) >> 0 & 255) ^ 128) - 128)).astype(np.int64) + ((((b.astype(np.int64) >> 8 & 255) ^ 128) - 128) != (((a.astype(np.int64) >> 8 & 255) ^ 128) - 128)).astype(np.int64) + ((((b.astype(np.int64) >> 16 & 255) ^ 128) - 128) != (((a.astype(np.int64) >> 16 & 255) ^ 128) - 128)).astype(np.int64) + ((((b.astype(np.int64) >> 24 & 255) ^ 128) - 128) != (((a.astype(np.int64) >> 24 & 255) ^ 128) - 128)).astype(np.int64) + c.astype(np.int64) & 0xFFFFFFFF
VIDEO(vset4_ss_ne_sum_ab7654_bb3210, "vset4.s32.s32.ne.add %0, %1.b7654, %2.b3210, %3;")
