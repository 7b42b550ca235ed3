#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t pixel;
#define TW 16
#define HALO 1
#define SW (TW + 2 * HALO)
#define SWAP(a, b) { pixel lo = min(a, b), hi = max(a, b); a = lo; b = hi; }

struct pgm { int w, h, maxval; pixel *data; };

static struct pgm read_pgm(const char *name)
{
    struct pgm p = {0};
    FILE *f = fopen(name, "rb");
    char line[256];
    if (!f) { perror(name); exit(1); }
    if (!fgets(line, sizeof line, f) || strncmp(line, "P5", 2)) exit(1);
    if (fscanf(f, "%d %d %d", &p.w, &p.h, &p.maxval) != 3) exit(1);
    p.data = (pixel*)malloc(p.w * p.h);
    fread(p.data, 1, p.w * p.h, f);
    fclose(f);
    return p;
}

__device__ pixel middle(pixel *p)
{
    SWAP(p[1], p[2]); SWAP(p[4], p[5]); SWAP(p[7], p[8]);
    SWAP(p[0], p[1]); SWAP(p[3], p[4]); SWAP(p[6], p[7]);
    SWAP(p[1], p[2]); SWAP(p[4], p[5]); SWAP(p[7], p[8]);
    SWAP(p[0], p[3]); SWAP(p[5], p[8]); SWAP(p[4], p[7]);
    SWAP(p[3], p[6]); SWAP(p[1], p[4]); SWAP(p[2], p[5]);
    SWAP(p[4], p[7]); SWAP(p[4], p[2]); SWAP(p[6], p[4]);
    SWAP(p[4], p[2]);
    return p[4];
}

static __device__ int clampi(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

static __global__ void medianKernel(const pixel *in, pixel *out, int w, int h)
{
    __shared__ pixel tile[SW][SW];
    int x0 = blockIdx.x * TW - HALO, y0 = blockIdx.y * TW - HALO;
    for (int y = threadIdx.y; y < SW; y += TW)
        for (int x = threadIdx.x; x < SW; x += TW)
            tile[y][x] = in[clampi(y0 + y, 0, h - 1) * w + clampi(x0 + x, 0, w - 1)];
    __syncthreads();
    int x = blockIdx.x * TW + threadIdx.x, y = blockIdx.y * TW + threadIdx.y;
    if (x < w && y < h) {
        pixel v[9];
        for (int i = 0; i < 9; i++) v[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
        out[y * w + x] = middle(v);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) { fprintf(stderr, "usage: %s in.pgm out.pgm\n", argv[0]); return 1; }
    struct pgm p = read_pgm(argv[1]);
    pixel *din, *dout;
    cudaMalloc(&din, p.w * p.h); cudaMalloc(&dout, p.w * p.h);
    cudaMemcpy(din, p.data, p.w * p.h, cudaMemcpyHostToDevice);
    dim3 b(TW, TW), g((p.w + TW - 1) / TW, (p.h + TW - 1) / TW);
    medianKernel<<<g, b>>>(din, dout, p.w, p.h);
    cudaMemcpy(p.data, dout, p.w * p.h, cudaMemcpyDeviceToHost);
    FILE *f = fopen(argv[2], "wb");
    fprintf(f, "P5\n%d %d\n%d\n", p.w, p.h, p.maxval);
    fwrite(p.data, 1, p.w * p.h, f);
    fclose(f);
    return 0;
}
