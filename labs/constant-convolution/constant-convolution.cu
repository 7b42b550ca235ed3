// out[y][x] = the sum over j and i from 0 to 4 of mask[j][i] * in[y + j - 2][x + i - 2], where
// elements beyond the edge count as zero; pictures of height x width floats, row-major.
//
// The launch has ceil(width / 32) x ceil(height / 8) blocks of 32 x 8 threads, one element of out
// per thread. Before the launch the grader copies the values of the mask to the variable `mask`.

#define RADIUS 2
#define SIDE (2 * RADIUS + 1)

// TODO: this array is in global memory. All threads read the same element of it at the
// same time: move it to the memory that is fast for such reads.
__device__ float mask[SIDE][SIDE];

extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }

    float sum = 0.0f;
    // TODO: add the 25 products; skip elements beyond the edge of the picture.
    out[y * width + x] = sum;
}
