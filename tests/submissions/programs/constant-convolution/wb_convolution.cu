#include <wb.h>
#include <assert.h>

#define wbCheck(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { wbLog(ERROR, "Failed to run stmt ", #stmt); return -1; } } while (0)

#define MASK_WIDTH 5
#define RADIUS (MASK_WIDTH / 2)
#define clamp(x) (min(max((x), 0.0), 1.0))

//@@ define the mask in constant memory
__constant__ float mask[MASK_WIDTH][MASK_WIDTH];

__global__ void convolution(const float *I, float *P, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        float accum = 0;
        for (int y = -RADIUS; y <= RADIUS; y++) {
            for (int x = -RADIUS; x <= RADIUS; x++) {
                int r = row + y, c = col + x;
                if (r >= 0 && r < height && c >= 0 && c < width)
                    accum += I[r * width + c] * mask[y + RADIUS][x + RADIUS];
            }
        }
        P[row * width + col] = accum;
    }
}

int main(int argc, char *argv[])
{
    wbArg_t arg = wbArg_read(argc, argv);
    wbImage_t inputImage = wbImport(wbArg_getInputFile(arg, 0));
    float *hostMaskData = (float *)wbImport(wbArg_getInputFile(arg, 1), NULL, NULL);
    int imageWidth = wbImage_getWidth(inputImage), imageHeight = wbImage_getHeight(inputImage);
    float *deviceInput, *deviceOutput;
    wbCheck(cudaMalloc((void **)&deviceInput, imageWidth * imageHeight * sizeof(float)));
    wbCheck(cudaMalloc((void **)&deviceOutput, imageWidth * imageHeight * sizeof(float)));
    wbCheck(cudaMemcpyToSymbol(mask, hostMaskData, MASK_WIDTH * MASK_WIDTH * sizeof(float)));
    dim3 block(32, 8), grid((imageWidth - 1) / 32 + 1, (imageHeight - 1) / 8 + 1);
    convolution<<<grid, block>>>(deviceInput, deviceOutput, imageWidth, imageHeight);
    wbSolution(arg, inputImage);
    return 0;
}
