// Layers of neural networks, sorting and stencils, as libraries write them.

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// kernel layernorm grid 4 block 32 tol 1e-4
// in x float32 = (np.arange(4 * 70) % 11).reshape(4, 70)
// value C int32 = 70
// out y float32 = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5))
// (llm.c style: one warp a row)
extern "C" __global__ void layernorm(const float *x, int C, float *y) {
  int lane = threadIdx.x;
  const float *r = x + blockIdx.x * C;
  float s = 0;
  for (int i = lane; i < C; i += 32) s += r[i];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  float m = s / C, v = 0;
  for (int i = lane; i < C; i += 32) { float d = r[i] - m; v += d * d; }
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  float inv = rsqrtf(v / C + 1e-5f);
  for (int i = lane; i < C; i += 32) __stcs(y + blockIdx.x * C + i, (r[i] - m) * inv);
}
// kernel softmax_block grid 3 block 128 tol 1e-5
// in x float32 = np.sin(np.arange(3 * 300.)).reshape(3, 300)
// out y float32 = np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
extern "C" __global__ void softmax_block(const float *x, float *y) {
  __shared__ float part[4];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  const float *r = x + blockIdx.x * 300;
  float m = -INFINITY;
  for (int i = t; i < 300; i += 128) m = fmaxf(m, r[i]);
  for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (l == 0) part[w] = m;
  __syncthreads();
  m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  float s = 0;
  for (int i = t; i < 300; i += 128) s += expf(r[i] - m);
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  __syncthreads();
  if (l == 0) part[w] = s;
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  for (int i = t; i < 300; i += 128) y[blockIdx.x * 300 + i] = expf(r[i] - m) / s;
}
// kernel softmax_block_reuse grid 3 block 128
// in x float32 = np.sin(np.arange(3 * 300.)).reshape(3, 300)
// out y float32 = np.zeros((3, 300))
extern "C" __global__ void softmax_block_reuse(const float *x, float *y) {
  __shared__ float part[4];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  const float *r = x + blockIdx.x * 300;
  float m = -INFINITY;
  for (int i = t; i < 300; i += 128) m = fmaxf(m, r[i]);
  for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (l == 0) part[w] = m;
  __syncthreads();
  m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));  // <- race
  float s = 0;
  for (int i = t; i < 300; i += 128) s += expf(r[i] - m);
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (l == 0) part[w] = s;  // <- race
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  for (int i = t; i < 300; i += 128) y[blockIdx.x * 300 + i] = expf(r[i] - m) / s;
}
// kernel packed128 grid 1 block 32
// in x float16 = np.arange(256) / 8
// out y float16 = np.arange(256) / 4
template <class T> struct alignas(16) Packed { T v[16 / sizeof(T)]; __device__ T &operator[](int i) { return v[i]; } };
extern "C" __global__ void packed128(const __half *x, __half *y) {
  Packed<__half> a = *reinterpret_cast<const Packed<__half> *>(x + 8 * threadIdx.x), b;
#pragma unroll
  for (int i = 0; i < 8; ++i) b[i] = a[i] + a[i];
  *reinterpret_cast<Packed<__half> *>(y + 8 * threadIdx.x) = b;
}
// kernel mma16816 grid 1 block 32
// in a float16 = (np.arange(256) % 7 - 3).reshape(16, 16)
// in b float16 = (np.arange(128) % 5 - 2).reshape(8, 16)
// out c float32 = a.astype(np.float32) @ b.astype(np.float32).T
extern "C" __global__ void mma16816(const __half *a, const __half *b, float *c) {
  __shared__ alignas(16) __half sa[256], sb[128];
  int t = threadIdx.x;
  *(uint4 *)(sa + 8 * t) = *(const uint4 *)(a + 8 * t);
  if (t < 16) *(uint4 *)(sb + 8 * t) = *(const uint4 *)(b + 8 * t);
  __syncwarp();
  unsigned ra[4], rb[2]; float d[4] = {};
  unsigned pa = (unsigned)__cvta_generic_to_shared(sa + (t % 16) * 16 + (t / 16) * 8);
  unsigned pb = (unsigned)__cvta_generic_to_shared(sb + (t % 8) * 16 + (t / 8 % 2) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  int g = t / 4, q = t % 4;
  c[g * 8 + 2 * q] = d[0]; c[g * 8 + 2 * q + 1] = d[1]; c[(g + 8) * 8 + 2 * q] = d[2]; c[(g + 8) * 8 + 2 * q + 1] = d[3];
}
// kernel mma_no_sync grid 1 block 32
// in a float16 = (np.arange(256) % 7 - 3).reshape(16, 16)
// out c uint32 = np.zeros(128)
extern "C" __global__ void mma_no_sync(const __half *a, unsigned *c) {
  __shared__ alignas(16) __half sa[256];
  int t = threadIdx.x;
  *(uint4 *)(sa + 8 * t) = *(const uint4 *)(a + 8 * t);  // <- race
  unsigned r[4], p = (unsigned)__cvta_generic_to_shared(sa + (t % 16) * 16 + (t / 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p));  // <- race
  for (int i = 0; i < 4; ++i) c[32 * i + t] = r[i];
}
// kernel flash grid 2 block 32 tol 1e-4
// in q float32 = np.sin(np.arange(64 * 8.)).reshape(64, 8)
// in k float32 = np.cos(np.arange(64 * 8.)).reshape(64, 8)
// in v float32 = (np.arange(64 * 8.) % 5).reshape(64, 8)
// out o float32 = (lambda s: (np.exp(s - s.max(1, keepdims=True)) / np.exp(s - s.max(1, keepdims=True)).sum(1, keepdims=True)) @ v)(q @ k.T)
extern "C" __global__ void flash(const float *q, const float *k, const float *v, float *o) {
  __shared__ float K[16][8], V[16][8];
  int t = threadIdx.x, row = blockIdx.x * 32 + t;
  float Q[8], acc[8] = {}, m = -INFINITY, l = 0;
  for (int d = 0; d < 8; ++d) Q[d] = q[row * 8 + d];
  for (int j = 0; j < 64; j += 16) {
    for (int i = t; i < 128; i += 32) { K[i / 8][i % 8] = k[j * 8 + i]; V[i / 8][i % 8] = v[j * 8 + i]; }
    __syncthreads();
    for (int c = 0; c < 16; ++c) {
      float s = 0;
      for (int d = 0; d < 8; ++d) s += Q[d] * K[c][d];
      float n = fmaxf(m, s), e = expf(m - n), p = expf(s - n);
      l = l * e + p;
      for (int d = 0; d < 8; ++d) acc[d] = acc[d] * e + p * V[c][d];
      m = n;
    }
    __syncthreads();
  }
  for (int d = 0; d < 8; ++d) o[row * 8 + d] = acc[d] / l;
}
// kernel radix_bits grid 1 block 64
// in x uint32 = np.arange(64) * 2654435761 % 251
// out y uint32 = np.sort(x)
extern "C" __global__ void radix_bits(const unsigned *x, unsigned *y) {
  __shared__ unsigned s[64]; __shared__ unsigned warp[2];
  int t = threadIdx.x, lane = t & 31;
  unsigned v = x[t];
  for (int b = 0; b < 8; ++b) {
    unsigned zero = __ballot_sync(~0u, !(v >> b & 1));
    if (lane == 0) warp[t / 32] = __popc(zero);
    __syncthreads();
    unsigned zeros = warp[0] + warp[1], before = __popc(zero & ((1u << lane) - 1)) + (t >= 32 ? warp[0] : 0);
    s[v >> b & 1 ? zeros + t - before : before] = v;
    __syncthreads();
    v = s[t];
  }
  y[t] = v;
}
// kernel stencil_reg grid 2 block 16,4
// in a float32 = np.arange(6 * 8 * 34.).reshape(6, 8, 34) % 13
// inout b float32 = np.zeros((6, 8, 34)) -> _
extern "C" __global__ void stencil_reg(const float *a, float *b) {
  __shared__ float s[6][18];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx + 1, y = ty + 1;
  auto at = [=](int k, int j, int i) { return k * 8 * 34 + j * 34 + i; };
  float below = a[at(0, y, x)], here = a[at(1, y, x)];
  for (int k = 1; k < 5; ++k) {
    float above = a[at(k + 1, y, x)];
    s[ty + 1][tx + 1] = here;
    if (tx == 0) s[ty + 1][0] = a[at(k, y, x - 1)];
    if (tx == 15) s[ty + 1][17] = a[at(k, y, x + 1)];
    if (ty == 0) s[0][tx + 1] = a[at(k, y - 1, x)];
    if (ty == 3) s[5][tx + 1] = a[at(k, y + 1, x)];
    __syncthreads();
    b[at(k, y, x)] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2] + above + below - 6 * here;
    __syncthreads();
    below = here; here = above;
  }
}
// kernel stencil_corner grid 1 block 16,4
// in a float32 = np.arange(8 * 34.).reshape(8, 34) % 13
// inout b float32 = np.zeros((8, 34)) -> _
extern "C" __global__ void stencil_corner(const float *a, float *b) {
  __shared__ float s[6][18];
  int tx = threadIdx.x, ty = threadIdx.y, x = tx + 1, y = ty + 1;
  s[ty + 1][tx + 1] = a[y * 34 + x];
  if (tx == 0) s[ty + 1][0] = a[y * 34 + x - 1];
  if (tx == 15) s[ty + 1][17] = a[y * 34 + x + 1];
  if (ty == 0) s[0][tx + 1] = a[(y - 1) * 34 + x];
  if (ty == 3) s[5][tx + 1] = a[(y + 1) * 34 + x];
  __syncthreads();
  b[y * 34 + x] = s[ty][tx] + s[ty + 1][tx + 1];  // <- uninitialized-read
}
// kernel csr_vector grid 2 block 64
// in ptr int32 = np.minimum(np.arange(5) * 40, 150)
// in col int32 = np.arange(150) * 7 % 50
// in val float32 = np.arange(150) % 4
// in x float32 = np.arange(50)
// out y float32 = [float((val[ptr[r]:ptr[r+1]] * x[col[ptr[r]:ptr[r+1]]]).sum()) for r in range(4)]
extern "C" __global__ void csr_vector(const int *__restrict__ ptr, const int *__restrict__ col, const float *__restrict__ val, const float *__restrict__ x, float *y) {
  int row = (blockIdx.x * 64 + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float s = 0;
  for (int e = ptr[row] + lane; e < ptr[row + 1]; e += 32) s += val[e] * x[col[e]];
  for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
  if (lane == 0) y[row] = s;
}
// kernel ticket_last_reset grid 6 block 64
// in x int32 = np.arange(384)
// inout part int32 = np.zeros(6) -> _
// inout ticket int32 = [0] -> [0]
// out y int32 = [73536]
extern "C" __global__ void ticket_last_reset(const int *x, int *part, int *ticket, int *y) {
  __shared__ int s[2]; __shared__ bool last;
  int t = threadIdx.x, v = __reduce_add_sync(~0u, x[blockIdx.x * 64 + t]);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    part[blockIdx.x] = s[0] + s[1];
    __threadfence();
    last = atomicAdd(ticket, 1) == int(gridDim.x) - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  if (last && t < 32) {
    int a = t < 6 ? __ldcg(&part[t]) : 0;
    a = __reduce_add_sync(~0u, a);
    if (t == 0) *y = a;
  }
}
// kernel ticket_reset_first grid 6 block 64
// inout ticket int32 = [0] -> _
// inout y int32 = [0] -> _
extern "C" __global__ void ticket_reset_first(int *ticket, int *y) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) *ticket = 0;  // <- race
    if (atomicAdd(ticket, 1) == int(gridDim.x) - 1) *y = 1;  // <- race
  }
}
