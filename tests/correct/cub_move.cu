#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__device__ void move(int *in, int *out) {
  using Load = cub::BlockLoad<int, 128, 4, L>;
  using Store = cub::BlockStore<int, 128, 4, S>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } temp;
  int items[4], base = blockIdx.x * 512;
  if (blockIdx.x < 3) Load(temp.load).Load(in + base, items);
  else Load(temp.load).Load(in + base, items, 500, -1);
  for (int i = 0; i < 4; ++i) items[i] = 2 * items[i] + 1;
  __syncthreads();
  Store(temp.store).Store(out + base, items);
}

// kernel direct grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void direct(int *in, int *out) {
  move<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(in, out);
}

// kernel striped grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void striped(int *in, int *out) {
  move<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(in, out);
}

// kernel vectorize grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void vectorize(int *in, int *out) {
  move<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(in, out);
}

// kernel transpose grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void transpose(int *in, int *out) {
  move<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(in, out);
}

// kernel warp_transpose grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void warp_transpose(int *in, int *out) {
  move<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, out);
}

// kernel timesliced grid 4 block 128
// inout x int32 = rng.integers(-1000, 1000, 2048) -> _
// out out int32 = 2 * np.where(np.arange(2048) < 2036, x, -1) + 1
extern "C" __global__ void timesliced(int *in, int *out) {
  move<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(in, out);
}

// kernel exchange grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = x + np.arange(2048) % 512 // 4
extern "C" __global__ void exchange(const int *in, int *out) {
  using Exchange = cub::BlockExchange<int, 128, 4>;
  __shared__ typename Exchange::TempStorage temp;
  int items[4], base = blockIdx.x * 512;
  for (int i = 0; i < 4; ++i) items[i] = in[base + i * 128 + threadIdx.x];
  Exchange(temp).StripedToBlocked(items, items);
  for (int i = 0; i < 4; ++i) items[i] += threadIdx.x;
  __syncthreads();
  Exchange(temp).BlockedToStriped(items, items);
  for (int i = 0; i < 4; ++i) out[base + i * 128 + threadIdx.x] = items[i];
}
