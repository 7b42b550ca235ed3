// A kernel for each shape of texture and each kind of result: thread i fetches at the place at[i].
#define FETCH(NAME, TYPE, CALL)                                                                      \
  extern "C" __global__ void NAME(cudaTextureObject_t t, const float4 *at, TYPE *y) {                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                   \
    float4 c = at[i];                                                                                \
    y[i] = CALL;                                                                                     \
  }
#define SHAPES(KIND, TYPE)                                                                           \
  FETCH(fetch_##KIND, TYPE, tex1Dfetch<TYPE>(t, (int)c.x))                                           \
  FETCH(d1_##KIND, TYPE, tex1D<TYPE>(t, c.x))                                                        \
  FETCH(d2_##KIND, TYPE, (tex2D<TYPE>(t, c.x, c.y)))                                                 \
  FETCH(d3_##KIND, TYPE, (tex3D<TYPE>(t, c.x, c.y, c.z)))                                            \
  FETCH(a1_##KIND, TYPE, (tex1DLayered<TYPE>(t, c.x, (int)c.w)))                                     \
  FETCH(a2_##KIND, TYPE, (tex2DLayered<TYPE>(t, c.x, c.y, (int)c.w)))
SHAPES(float, float4)
SHAPES(int, int4)
SHAPES(uint, uint4)
