// Plain updates in loops of as many rounds as each lane has: a barrier fits only where it ends the
// race, and an atomic where none does.

// kernel bytes_of_a_sieve grid 1 block 32
// out y uint8 = np.zeros(64)
// hints Line N< reads `count`, computes and writes it back: two steps, and updates of other threads between them are lost. No atomic adds to 8 bits: use elements of 32 bits
extern "C" __global__ void bytes_of_a_sieve(unsigned char *y) {
  __shared__ unsigned char count[64];
  int t = threadIdx.x;
  count[t] = 0;
  count[t + 32] = 0;
  __syncwarp();
  for (int m = 2 * (t + 2); m < 64; m += t + 2) count[m]++;  // <N <- race
  __syncwarp();
  y[t] = count[t];
  y[t + 32] = count[t + 32];
}

// kernel bytes_of_a_sieve_in_a_block grid 1 block 32
// out y uint8 = np.zeros(64)
// hints Line N< reads `count`, computes and writes it back: two steps, and updates of other threads between them are lost. No atomic adds to 8 bits: use elements of 32 bits
extern "C" __global__ void bytes_of_a_sieve_in_a_block(unsigned char *y) {
  __shared__ unsigned char count[64];
  int t = threadIdx.x;
  count[t] = 0;
  count[t + 32] = 0;
  __syncwarp();
  if (t > 1) {
    for (int m = 2 * t; m < 64; m += t) {
      count[m]++;  // <N <- race
    }
  }
  __syncwarp();
  y[t] = count[t];
  y[t + 32] = count[t + 32];
}

// kernel words_of_a_sieve grid 1 block 32
// out y int32 = [sum(m % p == 0 for p in range(2, min(m, 34))) for m in range(64)]
extern "C" __global__ void words_of_a_sieve(int *y) {
  __shared__ int count[64];
  int t = threadIdx.x;
  count[t] = 0;
  count[t + 32] = 0;
  __syncwarp();
  for (int m = 2 * (t + 2); m < 64; m += t + 2) atomicAdd(&count[m], 1);
  __syncwarp();
  y[t] = count[t];
  y[t + 32] = count[t + 32];
}

// kernel rows_of_a_matrix grid 1 block 32
// in row int32 = np.arange(33) * np.arange(1, 34) // 2
// in col int32 = np.arange(528) % 7
// inout degree int32 = np.zeros(7) -> np.bincount(np.arange(528) % 7)
extern "C" __global__ void rows_of_a_matrix(const int *row, const int *col, int *degree) {
  int t = threadIdx.x;
  for (int e = row[t]; e < row[t + 1]; ++e) {
    atomicAdd(&degree[col[e]], 1);
  }
}

// kernel rows_of_a_matrix_plain grid 1 block 32
// in row int32 = np.arange(33) * np.arange(1, 34) // 2
// in col int32 = np.arange(528) % 7
// inout degree int32 = np.zeros(7) -> _
// hints Line N< reads `degree`, computes and writes it back: two steps, and updates of other threads between them are lost. Use one atomic, such as atomicAdd
extern "C" __global__ void rows_of_a_matrix_plain(const int *row, const int *col, int *degree) {
  int t = threadIdx.x;
  for (int e = row[t]; e < row[t + 1]; ++e) {
    degree[col[e]]++;  // <N <- race
  }
}

// kernel neighbors_in_one_line grid 1 block 64
// inout sum int32 = np.zeros(66) -> np.convolve(np.ones(64), np.ones(3))
extern "C" __global__ void neighbors_in_one_line(int *sum) {
  int t = threadIdx.x;
  for (int k = 0; k < 3; ++k) { sum[t + k]++; __syncthreads(); }
}

// kernel neighbors_in_one_line_unordered grid 1 block 64
// inout sum int32 = np.zeros(66) -> _
// hints Threads read `sum` before other threads have written it. Put __syncthreads() at the end of the body of the loop in line N<.
extern "C" __global__ void neighbors_in_one_line_unordered(int *sum) {
  int t = threadIdx.x;
  for (int k = 0; k < 3; ++k) sum[t + k]++;  // <N <- race
}

// kernel neighbors_in_uneven_rounds grid 1 block 32
// in rounds int32 = np.arange(32) % 4
// inout sum int32 = np.zeros(36) -> _
// hints Line N< reads `sum`, computes and writes it back: two steps, and updates of other threads between them are lost. Use one atomic, such as atomicAdd
extern "C" __global__ void neighbors_in_uneven_rounds(const int *rounds, int *sum) {
  int t = threadIdx.x;
  for (int k = 0; k < rounds[t]; ++k) sum[t + k]++;  // <N <- race
}
