"""CUDA C++ in, a Program out: NVRTC for the simulator, nvcc through PyCUDA for the GPU."""
