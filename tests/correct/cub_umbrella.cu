// What <cub/cub.cuh> alone gives device code.
#include <cub/cub.cuh>

// kernel warps_load_and_store grid 2 block 64
// in x int32 = np.arange(256)
// out y int32 = np.arange(256) + 1
extern "C" __global__ void warps_load_and_store(const int *x, int *y) {
  using Load = cub::WarpLoad<int, 2, cub::WARP_LOAD_TRANSPOSE>;
  using Store = cub::WarpStore<int, 2, cub::WARP_STORE_TRANSPOSE>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
  } both[2];
  int warp = threadIdx.x / 32, start = (blockIdx.x * 2 + warp) * 64, v[2];
  Load(both[warp].load).Load(x + start, v);
  __syncwarp();
  v[0]++;
  v[1]++;
  Store(both[warp].store).Store(y + start, v);
}

// kernel warp_exchanges grid 1 block 32
// in x int32 = np.arange(128)
// out y int32 = np.arange(128)
extern "C" __global__ void warp_exchanges(const int *x, int *y) {
  using Exchange = cub::WarpExchange<int, 4>;
  __shared__ Exchange::TempStorage storage;
  int v[4];
  for (int k = 0; k < 4; ++k) v[k] = x[threadIdx.x + 32 * k];
  Exchange(storage).StripedToBlocked(v, v);
  for (int k = 0; k < 4; ++k) y[threadIdx.x * 4 + k] = v[k];
}

// kernel modified_loads grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(64) * 2
extern "C" __global__ void modified_loads(const int *x, int *y) {
  cub::CacheModifiedInputIterator<cub::LOAD_CG, int> in(x);
  int v = in[threadIdx.x] + cub::ThreadLoad<cub::LOAD_CA>(x + threadIdx.x);
  cub::ThreadStore<cub::STORE_CS>(y + threadIdx.x, v);
}

// kernel lanes_and_lengths grid 1 block 64
// out y int32 = np.arange(64) % 32 + 3
extern "C" __global__ void lanes_and_lengths(int *y) {
  y[threadIdx.x] = threadIdx.x % 32 + cub::Log2<8>::VALUE + 0 * cub::WarpMask<32>(0);
}
