// Textures and surfaces: images, volumes and tables, and the mistakes that are made with them. Of each
// pair one is right, although it looks wrong.
#include <cuda_fp16.h>

// A table of linear memory; outside it, fetches give 0.
// kernel table grid 2 block 32
// texture t int32 memory linear = np.arange(40) * 3
// out y int32 = np.append(np.arange(40) * 3, np.zeros(24))
extern "C" __global__ void table(cudaTextureObject_t t, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = tex1Dfetch<int>(t, i);
}

// An image at its texels' centers.
// kernel image grid 3,2 block 8,8
// texture t float32 = rng.normal(size=(16, 24))
// out y float32 = t
extern "C" __global__ void image(cudaTextureObject_t t, float *y) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  y[row * 24 + x] = tex2D<float>(t, x + 0.5f, row + 0.5f);
}

// A Sobel filter of bytes, whose neighbors beyond the edge are the edge.
// kernel sobel grid 2,2 block 16,16
// texture t uint8 = rng.integers(0, 256, (29, 31))
// inout y int32 = np.zeros((29, 31)) -> np.abs(np.pad(t.astype(int), 1, "edge")[:, 2:] - np.pad(t.astype(int), 1, "edge")[:, :-2])[:-2] + 2 * np.abs(np.pad(t.astype(int), 1, "edge")[:, 2:] - np.pad(t.astype(int), 1, "edge")[:, :-2])[1:-1]
extern "C" __global__ void sobel(cudaTextureObject_t t, int *y) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= 31 || row >= 29) return;
  int above = tex2D<unsigned char>(t, x + 1.5f, row - 0.5f) - tex2D<unsigned char>(t, x - 0.5f, row - 0.5f);
  int here = tex2D<unsigned char>(t, x + 1.5f, row + 0.5f) - tex2D<unsigned char>(t, x - 0.5f, row + 0.5f);
  y[row * 31 + x] = abs(above) + 2 * abs(here);
}

// Halfway between texels, the linear filter gives their mean; beyond the ends the last one.
// kernel between grid 1 block 32
// texture t float32 filter linear = np.arange(32) ** 2 / 4
// out y float32 = np.append((t[1:] + t[:-1]) / 2, t[-1])
extern "C" __global__ void between(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.0f);
}

// Slices of a volume of four channels, halfway in z.
// kernel slices grid 3 block 8,4
// texture t float32 channels 4 filter linear = rng.integers(-99, 99, (4, 4, 8, 4))
// out y float32 = (t[1:] + t[:-1]) / 2
extern "C" __global__ void slices(cudaTextureObject_t t, float4 *y) {
  y[(blockIdx.x * 4 + threadIdx.y) * 8 + threadIdx.x] = tex3D<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, blockIdx.x + 1.0f);
}

// Bytes as fractions of one, at normalized coordinates that repeat.
// kernel wrapped grid 1 block 64
// texture t uint8 normalized yes read normalized address wrap = np.arange(16) * 17
// out y float32 = np.tile(np.arange(16) * 17, 4).astype(np.float32) / np.float32(255)
extern "C" __global__ void wrapped(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1D<float>(t, (threadIdx.x + 0.5f) / 16 - 2);
}

// Layers of half precision.
// kernel layers grid 3 block 8,4
// texture t float16 layered yes = rng.normal(size=(3, 4, 8))
// out y float32 = t[::-1].astype(np.float32)
extern "C" __global__ void layers(cudaTextureObject_t t, float *y) {
  y[(blockIdx.x * 4 + threadIdx.y) * 8 + threadIdx.x] = tex2DLayered<float>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, 2 - blockIdx.x);
}

// Ping-pong between two surfaces, whose x counts bytes.
// kernel ping grid 2,2 block 8,4
// surface a float32 = rng.normal(size=(8, 16)) -> a
// surface b float32 = _ -> a * 2
extern "C" __global__ void ping(cudaSurfaceObject_t a, cudaSurfaceObject_t b) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(2 * surf2Dread<float>(a, x * sizeof(float), y), b, x * sizeof(float), y);
}

// x not in bytes.
// kernel elements grid 2,2 block 8,4
// surface a float32 = rng.normal(size=(8, 16)) -> _
// finds invalid-access error in surface `a` at x = 1: x counts bytes
extern "C" __global__ void elements(cudaSurfaceObject_t a) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(1.0f, a, x, y);
}

// Multiplying twice, by the size of the element and once more, leaves the rows.
// kernel twice_the_bytes grid 2,2 block 8,4
// surface a float32 = rng.normal(size=(8, 16)) -> _
// finds invalid-access error out-of-bounds write of 4 bytes at x = 64 bytes, y = 0 in surface `a` (8 x 16 float32: rows of 64 bytes)
extern "C" __global__ void twice_the_bytes(cudaSurfaceObject_t a) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(1.0f, a, x * 4 * sizeof(float), y);
}

// Threads beyond the image: cudaBoundaryModeZero reads 0 there and drops what is written.
// kernel beyond grid 2,2 block 16,8
// surface a uint8 channels 4 = rng.integers(0, 256, (9, 20, 4)) -> 255 - a
// out y int32 = np.pad(a.astype(int).sum(2), ((0, 7), (0, 12)))
extern "C" __global__ void beyond(cudaSurfaceObject_t a, int *y) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  uchar4 v = surf2Dread<uchar4>(a, x * 4, row, cudaBoundaryModeZero);
  y[row * 32 + x] = v.x + v.y + v.z + v.w;
  surf2Dwrite(make_uchar4(255 - v.x, 255 - v.y, 255 - v.z, 255 - v.w), a, x * 4, row, cudaBoundaryModeZero);
}

// cudaBoundaryModeClamp: the nearest element.
// kernel nearest grid 1 block 24
// surface a int16 = np.arange(16) -> _
// out y int32 = np.clip(np.arange(24) - 4, 0, 15)
extern "C" __global__ void nearest(cudaSurfaceObject_t a, int *y) {
  y[threadIdx.x] = surf1Dread<short>(a, ((int)threadIdx.x - 4) * 2, cudaBoundaryModeClamp);
}

// The neighbor's element of a surface, before the barrier and after it.
// kernel neighbor_early grid 1 block 64
// surface a float32 = np.zeros((1, 64)) -> _
// out y float32 = np.roll(np.arange(64), -1)
// finds race error hazard on global `a[0]
extern "C" __global__ void neighbor_early(cudaSurfaceObject_t a, float *y) {
  surf2Dwrite((float)threadIdx.x, a, threadIdx.x * 4, 0);
  y[threadIdx.x] = surf2Dread<float>(a, (threadIdx.x + 1) % 64 * 4, 0);
}
// kernel neighbor_late grid 1 block 64
// surface a float32 = np.zeros((1, 64)) -> _
// out y float32 = np.roll(np.arange(64), -1)
extern "C" __global__ void neighbor_late(cudaSurfaceObject_t a, float *y) {
  surf2Dwrite((float)threadIdx.x, a, threadIdx.x * 4, 0);
  __syncthreads();
  y[threadIdx.x] = surf2Dread<float>(a, (threadIdx.x + 1) % 64 * 4, 0);
}

// Several threads write the channels of one texel: different ones, and the same one.
// kernel own_channel grid 1 block 64
// surface a uint8 channels 4 = _ -> np.arange(64).reshape(2, 8, 4)
extern "C" __global__ void own_channel(cudaSurfaceObject_t a) {
  surf2Dwrite((unsigned char)threadIdx.x, a, threadIdx.x % 32, threadIdx.x / 32);
}
// kernel same_channel grid 1 block 64
// surface a uint8 channels 4 = np.zeros((2, 8, 4)) -> _
// finds race error write-after-write hazard on global `a[0][0][0]`
extern "C" __global__ void same_channel(cudaSurfaceObject_t a) {
  surf2Dwrite((unsigned char)threadIdx.x, a, threadIdx.x % 32, 0);
}

// A fetch from memory that the kernel writes: after the write, and before it.
// kernel fetch_after grid 1 block 64
// texture t of a memory linear
// inout a float32 = np.ones(64) -> _
// finds race error a texture fetch reads through a cache that does not see what the kernel writes
extern "C" __global__ void fetch_after(cudaTextureObject_t t, float *a) {
  a[threadIdx.x] = 2;
  __syncthreads();
  a[threadIdx.x] += tex1Dfetch<float>(t, threadIdx.x);
}
// kernel fetch_before grid 1 block 64
// texture t of a memory linear
// inout a float32 = np.arange(64) -> np.arange(64) * 2
extern "C" __global__ void fetch_before(cudaTextureObject_t t, float *a) {
  float x = tex1Dfetch<float>(t, threadIdx.x);
  a[threadIdx.x] = 2 * x;
}

// In place, a filter reads what other threads write.
// kernel blur_in_place grid 2,2 block 8,8
// inout a float32 = rng.normal(size=(16, 16)) -> _
// texture t of a memory pitch
// finds race error hazard on global `a[
extern "C" __global__ void blur_in_place(float *a, cudaTextureObject_t t) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  a[y * 16 + x] = 0.5f * (tex2D<float>(t, x - 0.5f, y + 0.5f) + tex2D<float>(t, x + 1.5f, y + 0.5f));
}
// kernel blur grid 2,2 block 8,8
// in a float32 = rng.integers(0, 99, (16, 16))
// texture t of a memory pitch
// out b float32 = (np.pad(a, ((0, 0), (1, 1)), "edge")[:, 2:] + np.pad(a, ((0, 0), (1, 1)), "edge")[:, :-2]) / 2
extern "C" __global__ void blur(const float *a, cudaTextureObject_t t, float *b) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  b[y * 16 + x] = 0.5f * (tex2D<float>(t, x - 0.5f, y + 0.5f) + tex2D<float>(t, x + 1.5f, y + 0.5f));
}

// A texture and a surface of one array: fetched after it is written, and only read.
// kernel drawn_and_fetched grid 1 block 16
// surface s float32 = np.zeros((4, 4)) -> _
// texture t of s
// out y float32 = np.arange(16)
// finds race error a texture fetch reads through a cache that does not see what the kernel writes
extern "C" __global__ void drawn_and_fetched(cudaSurfaceObject_t s, cudaTextureObject_t t, float *y) {
  int x = threadIdx.x % 4, row = threadIdx.x / 4;
  surf2Dwrite((float)threadIdx.x, s, x * 4, row);
  y[threadIdx.x] = tex2D<float>(t, x + 0.5f, row + 0.5f);
}
// kernel two_views grid 1 block 16
// surface s float32 = np.arange(16).reshape(4, 4) -> s
// texture t of s normalized yes address mirror
// out y float32 = np.arange(16) + np.arange(16).reshape(4, 4)[:, ::-1].ravel()
extern "C" __global__ void two_views(cudaSurfaceObject_t s, cudaTextureObject_t t, float *y) {
  int x = threadIdx.x % 4, row = threadIdx.x / 4;
  y[threadIdx.x] = surf2Dread<float>(s, x * 4, row) + tex2D<float>(t, (x + 4.5f) / 4, (row + 0.5f) / 4);
}

// Texels without a value, and texels after they are written.
// kernel unset grid 1 block 32
// surface s float32 = _ -> np.zeros((1, 32))
// out y float32 = np.zeros(32)
// finds uninitialized-read error read of global `s[0]
extern "C" __global__ void unset(cudaSurfaceObject_t s, float *y) {
  y[threadIdx.x] = surf2Dread<float>(s, threadIdx.x * 4, 0);
}
// kernel set_first grid 1 block 32
// surface s float32 = _ -> np.arange(32).reshape(1, 32)
// out y float32 = np.arange(32)
extern "C" __global__ void set_first(cudaSurfaceObject_t s, float *y) {
  surf2Dwrite((float)threadIdx.x, s, threadIdx.x * 4, 0);
  y[threadIdx.x] = surf2Dread<float>(s, threadIdx.x * 4, 0);
}

// What is no object; objects in a structure.
// kernel next_handle grid 1 block 32
// texture t float32 = np.ones((4, 4))
// out y float32 = np.ones(32)
// finds invalid-access error which is no texture or surface object
extern "C" __global__ void next_handle(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex2D<float>(t + threadIdx.x / 16, 0.5f, 0.5f);
}
// kernel number grid 1 block 32
// value t uint64 = 7
// out y float32 = np.ones(32)
// finds invalid-access error read through 0x7, which is no texture or surface object
extern "C" __global__ void number(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
// kernel chosen grid 1 block 32
// texture t float32 = np.ones((4, 4))
// texture u float32 = np.ones((4, 4)) * 2
// out y float32 = np.repeat([1, 2], 16)
extern "C" __global__ void chosen(cudaTextureObject_t t, cudaTextureObject_t u, float *y) {
  y[threadIdx.x] = tex2D<float>(threadIdx.x < 16 ? t : u, 0.5f, 0.5f);
}

// Bytes read as float, and as what they are.
// kernel bytes_as_float grid 1 block 32
// texture t uint8 = np.arange(32)
// out y float32 = np.arange(32)
// finds invalid-access error `t` has uint8 texels, and this call reads them as float
extern "C" __global__ void bytes_as_float(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1D<float>(t, threadIdx.x + 0.5f);
}
// kernel bytes grid 1 block 32
// texture t int8 channels 2 = np.arange(-32, 32).reshape(32, 2)
// out y float32 = np.arange(-32, 32, 2)
extern "C" __global__ void bytes(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1D<char2>(t, threadIdx.x + 0.5f).x;
}

// tex1D of linear memory, and tex1Dfetch of a number of bytes that is no multiple of four.
// kernel sampled_memory grid 1 block 32
// texture t float32 memory linear = np.arange(32)
// out y float32 = np.arange(32)
// finds invalid-access error `t` is a texture of linear memory, and this call is for another shape
extern "C" __global__ void sampled_memory(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1D<float>(t, threadIdx.x + 0.5f);
}
// kernel odd_bytes grid 1 block 32
// texture t uint8 memory linear read normalized = np.arange(31)
// out y float32 = np.append(np.arange(31), 0).astype(np.float32) / np.float32(255)
extern "C" __global__ void odd_bytes(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}

// A layer too many.
// kernel layer_too_many grid 4 block 8
// texture t float32 layered yes = np.ones((3, 8))
// out y float32 = np.ones(32)
// finds invalid-access error read of layer 3 of `t`, which has 3 layers
extern "C" __global__ void layer_too_many(cudaTextureObject_t t, float *y) {
  y[blockIdx.x * 8 + threadIdx.x] = tex1DLayered<float>(t, threadIdx.x + 0.5f, blockIdx.x);
}

// The border is 0, and the level of detail is that of the only level.
// kernel border grid 1 block 20
// texture t float32 address border filter linear = np.arange(1, 17)
// out y float32 = np.concatenate([[0, 0, 0.5], np.arange(1.5, 16.5), [8, 0]])
extern "C" __global__ void border(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex1DLod<float>(t, threadIdx.x - 2.0f, 0);
}

// tex2Dgather: the four texels around a corner, of one channel.
// kernel gathered grid 1 block 8
// texture t float32 channels 4 = rng.normal(size=(4, 4, 4))
// out y float32 = np.stack([t[2, :, 1], np.append(t[2, 1:, 1], t[2, 3, 1]), np.append(t[1, 1:, 1], t[1, 3, 1]), t[1, :, 1]], -1).repeat(2, 0)
extern "C" __global__ void gathered(cudaTextureObject_t t, float4 *y) {
  y[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x / 2 + 1.0f, 2.0f, 1);
}

// A surface of three dimensions and one with layers.
// kernel planes grid 3 block 8,4
// surface a uint16 = np.zeros((3, 4, 8)) -> np.arange(96).reshape(3, 4, 8)
// surface b float32 channels 2 layered yes = np.zeros((3, 4, 8, 2)) -> np.arange(192).reshape(3, 4, 8, 2)
extern "C" __global__ void planes(cudaSurfaceObject_t a, cudaSurfaceObject_t b) {
  int k = (blockIdx.x * 4 + threadIdx.y) * 8 + threadIdx.x;
  surf3Dwrite((unsigned short)k, a, threadIdx.x * 2, threadIdx.y, blockIdx.x);
  surf2DLayeredwrite(make_float2(2 * k, 2 * k + 1), b, threadIdx.x * 8, threadIdx.y, blockIdx.x);
}

// A guard that is off by one row.
// kernel one_row_more grid 1 block 8,5
// surface a float32 = np.zeros((4, 8)) -> _
// finds invalid-access error out-of-bounds write of 4 bytes at x = 0 bytes, y = 4 in surface `a`
extern "C" __global__ void one_row_more(cudaSurfaceObject_t a) {
  if (threadIdx.y <= 4) surf2Dwrite(1.0f, a, threadIdx.x * 4, threadIdx.y);
}

// Ping-pong in a loop, without a barrier and with one.
// kernel pingpong grid 1 block 16,16
// surface a float32 = np.arange(256).reshape(16,16) -> _
// surface b float32 = np.zeros((16,16)) -> _
// out y float32 = np.zeros(256)
// finds race error hazard
extern "C" __global__ void pingpong(cudaSurfaceObject_t a, cudaSurfaceObject_t b, float *y) {
  int x = threadIdx.x, r = threadIdx.y;
  for (int k = 0; k < 4; k++) {
    float l = surf2Dread<float>(a, max(x - 1, 0) * 4, r);
    surf2Dwrite(l + 1, b, x * 4, r);
    cudaSurfaceObject_t s = a; a = b; b = s;
  }
  y[r * 16 + x] = surf2Dread<float>(a, x * 4, r);
}
// kernel pingpong_sync grid 1 block 16,16
// surface a float32 = np.zeros((16,16)) -> _
// surface b float32 = np.zeros((16,16)) -> _
// out y float32 = np.full(256, 4)
extern "C" __global__ void pingpong_sync(cudaSurfaceObject_t a, cudaSurfaceObject_t b, float *y) {
  int x = threadIdx.x, r = threadIdx.y;
  for (int k = 0; k < 4; k++) {
    float l = surf2Dread<float>(a, max(x - 1, 0) * sizeof(float), r);
    surf2Dwrite(l + 1, b, x * sizeof(float), r);
    __syncthreads();
    cudaSurfaceObject_t s = a; a = b; b = s;
  }
  y[r * 16 + x] = surf2Dread<float>(a, x * 4, r);
}

// A volume beyond its ends, which mirror it.
// kernel volume grid 8 block 8,8
// texture t float32 channels 2 filter linear normalized yes address mirror = rng.integers(0,64,(8,8,8,2))
// out y float32 = np.zeros((8,8,8,2)) + t
extern "C" __global__ void volume(cudaTextureObject_t t, float2 *y) {
  int x = threadIdx.x, r = threadIdx.y, z = blockIdx.x;
  y[(z * 8 + r) * 8 + x] = tex3D<float2>(t, (x + 0.5f) / 8 + 2, (r + 0.5f) / 8 - 2, (z + 0.5f) / 8);
}

// A table at normalized coordinates.
// kernel lut2 grid 1 block 64
// texture t float32 filter linear normalized yes = np.arange(16) * 16
// out y float32 = np.clip(np.arange(64) / 64 * 16 - 0.5, 0, 15) * 16
extern "C" __global__ void lut(cudaTextureObject_t t, float *y) { y[threadIdx.x] = 0 * tex1D<float>(t, threadIdx.x / 64.0f); }
extern "C" __global__ void lut2(cudaTextureObject_t t, float *y) { y[threadIdx.x] = tex1D<float>(t, threadIdx.x / 64.0f); }

// x / width without the half: the left edge of texel x, of which 21 bits of fraction count.
// kernel edges grid 1 block 100
// texture t float32 normalized yes = np.arange(100)
// out y float32 = np.floor(np.floor((np.arange(100, dtype=np.float32) / np.float32(100)).astype(float) * 2**21) / 2**21 * 100)
extern "C" __global__ void edges(cudaTextureObject_t t, float *y) { y[threadIdx.x] = tex1D<float>(t, threadIdx.x / 100.0f); }

// A coordinate without a value.
// kernel bad_coord grid 1 block 32
// texture t float32 = np.arange(32)
// out y float32 = np.zeros(32)
// finds uninitialized-read error local variable `u` is used before it has a value
extern "C" __global__ void bad_coord(cudaTextureObject_t t, float *y) {
  float u;
  if (threadIdx.x < 16) u = threadIdx.x + 0.5f;
  y[threadIdx.x] = tex1D<float>(t, u);
}

// A surface in place: across blocks, with x and y exchanged, in a plane too many.
// kernel stencil_blocks grid 4 block 32
// surface s float32 = np.zeros(128) -> _
// finds race error hazard on global `s[
extern "C" __global__ void stencil_blocks(cudaSurfaceObject_t s) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = surf1Dread<float>(s, i * 4) + surf1Dread<float>(s, (i + 1) * 4, cudaBoundaryModeZero);
  surf1Dwrite(v, s, i * 4);
}
// kernel swap_xy grid 1 block 16,8
// surface s float32 = np.zeros((8, 16)) -> _
// finds invalid-access error y = 8 in surface `s`
extern "C" __global__ void swap_xy(cudaSurfaceObject_t s) { surf2Dwrite(1.f, s, threadIdx.y * 4, threadIdx.x); }
// kernel z_out grid 1 block 4,4,5
// surface s float32 = np.zeros((4, 4, 4)) -> _
// finds invalid-access error y = 0 and a z that is not 0 to 3
extern "C" __global__ void z_out(cudaSurfaceObject_t s) { surf3Dwrite(1.f, s, threadIdx.x * 4, threadIdx.y, threadIdx.z); }

// Handles in shared memory; a row that is only written; four bytes at once.
// kernel handles_in_shared grid 1 block 32
// texture t float32 = np.ones(4)
// texture u float32 = np.ones(4) * 2
// out y float32 = np.tile([1,2],16)
extern "C" __global__ void handles_in_shared(cudaTextureObject_t t, cudaTextureObject_t u, float *y) {
  __shared__ cudaTextureObject_t s[2];
  if (threadIdx.x == 0) { s[0] = t; s[1] = u; }
  __syncthreads();
  y[threadIdx.x] = tex1D<float>(s[threadIdx.x % 2], 1.f);
}
// kernel texture_of_surface_write_other grid 1 block 16
// surface s float32 = np.arange(32).reshape(2, 16) -> np.stack([np.arange(16), np.arange(16) * 2])
// texture t of s
extern "C" __global__ void texture_of_surface_write_other(cudaSurfaceObject_t s, cudaTextureObject_t t) {
  surf2Dwrite(2 * tex2D<float>(t, threadIdx.x + 0.5f, 0.5f), s, threadIdx.x * 4, 1);
}
// kernel vec4_of_bytes grid 1 block 8
// surface s uint8 = np.arange(32).reshape(1, 32) -> np.arange(32)[::-1].reshape(1, 32)
extern "C" __global__ void vec4_of_bytes(cudaSurfaceObject_t s) {
  uchar4 v = surf2Dread<uchar4>(s, (7 - threadIdx.x) * 4, 0);
  __syncthreads();
  surf2Dwrite(make_uchar4(v.w, v.z, v.y, v.x), s, threadIdx.x * 4, 0);
}

// Elements of two to sixteen bytes.
// kernel wide_elements grid 1 block 8
// surface a int8 channels 2 = np.zeros((1, 8, 2)) -> np.arange(16).reshape(1, 8, 2)
// surface b int16 channels 4 = np.zeros((1, 8, 4)) -> np.arange(32).reshape(1, 8, 4)
// surface c int32 channels 2 = np.zeros((1, 8, 2)) -> np.stack([np.arange(8) - 4, np.where(np.arange(8) < 4, -1, 0)], -1)[np.newaxis]
// surface d uint32 channels 4 = np.zeros((1, 8, 4)) -> np.arange(32).reshape(1, 8, 4)
// out y int32 = np.arange(8) * 4 + 1 + np.arange(8) * 2 + np.arange(8) * 4 + 3
extern "C" __global__ void wide_elements(cudaSurfaceObject_t a, cudaSurfaceObject_t b, cudaSurfaceObject_t c,
                                         cudaSurfaceObject_t d, int *y) {
  int i = threadIdx.x;
  surf2Dwrite(make_char2(2 * i, 2 * i + 1), a, i * 2, 0);
  surf2Dwrite(make_short4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3), b, i * 8, 0);
  surf2Dwrite((long long)(i - 4), c, i * 8, 0);
  surf2Dwrite(make_uint4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3), d, i * 16, 0);
  y[i] = surf2Dread<short4>(b, i * 8, 0).y + surf2Dread<char2>(a, i * 2, 0).x + surf2Dread<uint4>(d, i * 16, 0).w;
}

// What only PTX has: extents, and whole coordinates of two dimensions.
// kernel queries grid 1 block 8
// texture t float32 = np.arange(40).reshape(5, 8)
// surface s float32 = np.zeros((3, 4, 6)) -> _
// out y int32 = np.tile([8 * 10000 + 5 * 1000 + 6 * 100 + 4 * 10 + 3], 8) + np.arange(8) * 1000000
extern "C" __global__ void queries(cudaTextureObject_t t, cudaSurfaceObject_t s, int *y) {
  int w, h, a, b, c, i = threadIdx.x;
  float v, g, f, e;
  asm("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(h) : "l"(t));
  asm("suq.width.b32 %0, [%1];" : "=r"(a) : "l"(s));
  asm("suq.height.b32 %0, [%1];" : "=r"(b) : "l"(s));
  asm("suq.depth.b32 %0, [%1];" : "=r"(c) : "l"(s));
  asm("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];" : "=f"(v), "=f"(g), "=f"(f), "=f"(e) : "l"(t), "r"(i), "r"(0));
  y[i] = (int)v * 1000000 + w * 10000 + h * 1000 + a * 100 + b * 10 + c;
}

// Fetches in one phase and writes in the next one; and fetches again after that.
// kernel fetch_then_write grid 1 block 32
// inout a float32 = np.arange(64) -> np.append(np.arange(31, -1, -1), np.arange(32, 64))
// texture t of a memory linear
extern "C" __global__ void fetch_then_write(float *a, cudaTextureObject_t t) {
  float x = tex1Dfetch<float>(t, 31 - threadIdx.x);
  __syncthreads();
  a[threadIdx.x] = x;
}
// kernel fetch_write_fetch grid 1 block 32
// inout a float32 = np.arange(64) -> _
// texture t of a memory linear
// finds race error a texture fetch reads through a cache
extern "C" __global__ void fetch_write_fetch(float *a, cudaTextureObject_t t) {
  for (int k = 0; k < 2; k++) {
    float x = tex1Dfetch<float>(t, 31 - threadIdx.x);
    __syncthreads();
    a[threadIdx.x] = x;
    __syncthreads();
  }
}

// A fetch under a condition that keeps it to the texels that have values.
// kernel under_a_condition grid 1 block 32
// surface s float32 = _ -> np.append(np.arange(16), np.ones(16)).reshape(1, 32)
// out y float32 = np.append(np.arange(16), np.zeros(16))
extern "C" __global__ void under_a_condition(cudaSurfaceObject_t s, float *y) {
  int i = threadIdx.x;
  surf2Dwrite(i < 16 ? (float)i : 1.0f, s, i * 4, 0);
  float v = 0;
  if (i < 16) v = surf2Dread<float>(s, i * 4, 0);
  y[i] = v;
}

// Atomics order threads, and a flag orders surface accesses of two blocks.
// kernel last_block grid 4 block 32
// surface s float32 = _ -> np.arange(128).reshape(1, 128)
// inout n uint32 = np.zeros(1) -> _
// out y float32 = [127 * 64]
extern "C" __global__ void last_block(cudaSurfaceObject_t s, unsigned *n, float *y) {
  __shared__ bool last;
  int i = blockIdx.x * 32 + threadIdx.x;
  surf2Dwrite((float)i, s, i * 4, 0);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(n, 1) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float sum = 0;
    for (int k = 0; k < 128; k++) sum += surf2Dread<float>(s, k * 4, 0);
    y[0] = sum;
  }
}
// kernel no_last_block grid 4 block 32
// surface s float32 = np.zeros((1, 128)) -> _
// inout n uint32 = np.zeros(1) -> _
// out y float32 = np.zeros(4)
// finds race error hazard on global `s[0]
extern "C" __global__ void no_last_block(cudaSurfaceObject_t s, unsigned *n, float *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  surf2Dwrite((float)i, s, i * 4, 0);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(n, 1);
  if (threadIdx.x == 0) y[blockIdx.x] = surf2Dread<float>(s, (i + 32) % 128 * 4, 0);
}
