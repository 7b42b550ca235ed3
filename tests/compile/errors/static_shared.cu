// expect: compile-error 2 kernel `k` declares 65,536 bytes of static shared memory, a block can have 49,152
extern "C" __global__ void k(float* a) {
    __shared__ float tile[128][128];
    tile[threadIdx.y][threadIdx.x] = a[0];
    __syncthreads();
    a[0] = tile[threadIdx.x][threadIdx.y];
}
