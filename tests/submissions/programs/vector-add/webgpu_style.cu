// MP 1
#include <wb.h>

#define wbCheck(stmt)                                                     \
  do {                                                                    \
    cudaError_t err = stmt;                                               \
    if (err != cudaSuccess) {                                             \
      wbLog(ERROR, "Failed to run stmt ", #stmt);                         \
      wbLog(ERROR, "Got CUDA error ...  ", cudaGetErrorString(err));      \
      return -1;                                                          \
    }                                                                     \
  } while (0)

__global__ void vecAdd(float *in1, float *in2, float *out, int len) {
  //@@ Insert code to implement vector addition here
  int idx = threadIdx.x + blockIdx.x * blockDim.x;
  if (idx < len) out[idx] = in1[idx] + in2[idx];
}

int main(int argc, char **argv) {
  wbArg_t args;
  int inputLength;
  float *hostInput1, *hostInput2, *hostOutput;
  float *deviceInput1, *deviceInput2, *deviceOutput;

  args = wbArg_read(argc, argv);
  wbTime_start(Generic, "Importing data and creating memory on host");
  hostInput1 = (float *)wbImport(wbArg_getInputFile(args, 0), &inputLength);
  hostInput2 = (float *)wbImport(wbArg_getInputFile(args, 1), &inputLength);
  hostOutput = (float *)malloc(inputLength * sizeof(float));
  wbTime_stop(Generic, "Importing data and creating memory on host");

  wbCheck(cudaMalloc(&deviceInput1, inputLength * sizeof(float)));
  wbCheck(cudaMalloc(&deviceInput2, inputLength * sizeof(float)));
  wbCheck(cudaMalloc(&deviceOutput, inputLength * sizeof(float)));
  cudaMemcpy(deviceInput1, hostInput1, inputLength * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(deviceInput2, hostInput2, inputLength * sizeof(float), cudaMemcpyHostToDevice);

  dim3 DimGrid((inputLength - 1) / 256 + 1, 1, 1);
  dim3 DimBlock(256, 1, 1);
  vecAdd<<<DimGrid, DimBlock>>>(deviceInput1, deviceInput2, deviceOutput, inputLength);
  cudaDeviceSynchronize();

  cudaMemcpy(hostOutput, deviceOutput, inputLength * sizeof(float), cudaMemcpyDeviceToHost);
  wbSolution(args, hostOutput, inputLength);
  cudaFree(deviceInput1); cudaFree(deviceInput2); cudaFree(deviceOutput);
  free(hostInput1); free(hostInput2); free(hostOutput);
  return 0;
}
