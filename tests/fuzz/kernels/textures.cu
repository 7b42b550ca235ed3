// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "args": [{"texture": ["float32", [24]], "memory": "linear"}, {"texture": ["uint8", [6, 8, 4]], "channels": 4, "interpolated": true, "normalized": true, "read_float": true, "address": ["wrap", "mirror", "clamp"]}, {"texture": ["float16", [3, 4, 5]], "interpolated": true, "address": ["border", "clamp", "border"]}, {"texture": ["int16", [3, 4, 8]], "layered": true}, {"surface": ["float32", [8, 8]]}, {"surface": ["uint8", [4, 4, 16]]}, ["float32", 64, "inout"]]}
extern "C" __global__ void k(cudaTextureObject_t line, cudaTextureObject_t image, cudaTextureObject_t volume,
                             cudaTextureObject_t layers, cudaSurfaceObject_t s, cudaSurfaceObject_t cube, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = y[i];
  float4 c = tex2D<float4>(image, x / 9, i * 0.01f);
  float4 g = tex2Dgather<float4>(image, x, 0.5f, 2);
  float v = tex3D<float>(volume, x, i * 0.1f, x - 1) + tex1Dfetch<float>(line, i - 20);
  int z = tex2DLayered<short>(layers, x, 1.5f, i % 3);
  float r = surf2Dread<float>(s, i * 4, (int)x, cudaBoundaryModeZero);
  surf2Dwrite(v + r, s, (int)x * 4, i / 8, cudaBoundaryModeClamp);
  if (i < 16) surf3Dwrite((unsigned char)z, cube, i, i / 4, i % 4);
  if (x > 0) y[i] = c.x + c.w + g.y + v + z;
}
