#include <bits/stdc++.h>
#include <cuda.h>
using namespace std;
typedef long long ll;
typedef vector<float> vf;

inline cudaError_t checkCuda(cudaError_t result)
{
#if defined(DEBUG) || defined(_DEBUG)
  if (result != cudaSuccess) {
    fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result));
    assert(result == cudaSuccess);
  }
#endif
  return result;
}

template <int TILE_DIM>
__global__ void sharedABMultiply(const float *a, const float *b, float *c, int N)
{
  __shared__ float aTile[TILE_DIM][TILE_DIM], bTile[TILE_DIM][TILE_DIM];
  int row = blockIdx.y * TILE_DIM + threadIdx.y;
  int col = blockIdx.x * TILE_DIM + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < N / TILE_DIM; t++) {
    aTile[threadIdx.y][threadIdx.x] = a[row * N + t * TILE_DIM + threadIdx.x];
    bTile[threadIdx.y][threadIdx.x] = b[(t * TILE_DIM + threadIdx.y) * N + col];
    __syncthreads();
    for (int i = 0; i < TILE_DIM; i++) sum += aTile[threadIdx.y][i] * bTile[i][threadIdx.x];
    __syncthreads();
  }
  c[row * N + col] = sum;
}

int main()
{
  ios::sync_with_stdio(false);
  const int tile = 16;
  int n; cin >> n;
  vf a(n * n), b(n * n), c(n * n);
  float *da, *db, *dc;
  checkCuda(cudaMalloc(&da, (ll)n * n * 4));
  checkCuda(cudaMalloc(&db, (ll)n * n * 4));
  checkCuda(cudaMalloc(&dc, (ll)n * n * 4));
  dim3 threads(tile, tile), blocks(n / tile, n / tile);
  sharedABMultiply<tile><<<blocks, threads>>>(da, db, dc, n);
  checkCuda(cudaDeviceSynchronize());
  cout << accumulate(c.begin(), c.end(), 0.0f) << '\n';
}
