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

// Wrong: the last block has fewer elements. The array is not the library's memory, whatever letters its name has.
// kernel block_too_large grid 1 block 128
// in a int32 = rng.integers(0, 99, 500)
// inout out int32 = np.zeros(512) -> _
// hints Compare the index with the size
extern "C" __global__ void block_too_large(int *a, int *out) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_DIRECT>;
  __shared__ typename Load::TempStorage t;
  int items[4];
  Load(t).Load(a, items);  // <- invalid-access
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i];
}

// Wrong: neighbors exchange the elements that they share. Each call has its elements to itself in no library's memory.
// kernel exchanged_with_the_next grid 1 block 32
// inout out int32 = np.arange(33) -> _
// hints Line N< exchanges two elements of `out`, and several threads do so with the same elements at once. No atomic exchanges two elements
extern "C" __global__ void exchanged_with_the_next(int *out) {
  cuda::std::swap(out[threadIdx.x], out[threadIdx.x + 1]);  // <N <- race
}
