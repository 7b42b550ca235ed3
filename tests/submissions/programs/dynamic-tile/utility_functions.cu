#include <cuda_runtime.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include <getopt.h>
#include "error_checks.h"

#define HD __host__ __device__
#define IDX2C(i, j, ld) (((i) * (ld)) + (j))

HD inline int divUp(int a, int b) { return (a + b - 1) / b; }
HD inline bool inside(int r, int c, int rows, int cols) { return r < rows && c < cols; }

static struct option long_options[] = {{"rows", required_argument, 0, 'm'}, {"help", no_argument, 0, 'h'}, {0, 0, 0, 0}};

extern "C" {

__global__ void matmul(const float *A, const float *B, float *C, int m, int n, int k, int tile)
{
    extern __shared__ float s[];
    float *a = s, *b = s + tile * tile;
    int r = IDX2C(blockIdx.y, threadIdx.y, tile), c = IDX2C(blockIdx.x, threadIdx.x, tile);
    float v = 0;
    for (int p = 0; p < divUp(k, tile); p++) {
        int kc = p * tile + threadIdx.x, kr = p * tile + threadIdx.y;
        a[IDX2C(threadIdx.y, threadIdx.x, tile)] = inside(r, kc, m, k) ? A[IDX2C(r, kc, k)] : 0;
        b[IDX2C(threadIdx.y, threadIdx.x, tile)] = inside(kr, c, k, n) ? B[IDX2C(kr, c, n)] : 0;
        __syncthreads();
        for (int i = 0; i < tile; i++) v += a[IDX2C(threadIdx.y, i, tile)] * b[IDX2C(i, threadIdx.x, tile)];
        __syncthreads();
    }
    if (inside(r, c, m, n)) C[IDX2C(r, c, n)] = v;
}

__global__ void choose_tile(int max_threads_per_block, int shared_bytes_per_block, int *tile)
{
    int best = 1;
    for (int t = 1; t * t <= max_threads_per_block; t++)
        if (2 * t * t * (int)sizeof(float) <= shared_bytes_per_block) best = t;
    *tile = best;
}

}

static void print_usage(const char *prog) { printf("Usage: %s [-m rows] [-h]\n", prog); }

int main(int argc, char *argv[])
{
    int opt, idx, rows = 128;
    while ((opt = getopt_long(argc, argv, "m:h", long_options, &idx)) != -1) {
        switch (opt) {
        case 'm': rows = atoi(optarg); break;
        default: print_usage(argv[0]); return 1;
        }
    }
    int grid = divUp(rows, 16);
    matmul<<<dim3(grid, grid), dim3(16, 16), 2 * 16 * 16 * sizeof(float)>>>(NULL, NULL, NULL, rows, rows, rows, 16);
    CHECK_LAST_CUDA_ERROR();
    return 0;
}
