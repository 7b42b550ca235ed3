extern "C" __global__ void k(float* a) {
    __shared__ float tile[96][128];
    tile[threadIdx.y][threadIdx.x] = a[0];
    __syncthreads();
    a[0] = tile[threadIdx.x][threadIdx.y];
}
