// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 8, "zero"]]}
// expect: clean
__device__ int head = 1, next_[5] = {0, 2, 3, 4, 0};
__device__ int pop() {
  int first, then;
  do {
    first = *(volatile int *)&head;
    __threadfence();
    then = first % 8 ? ((volatile int *)next_)[first % 8] + (first & ~7) : 0;
  } while (first % 8 && atomicCAS(&head, first, then) != first);
  return first % 8;
}
extern "C" __global__ void k(int *unused, int *taken) {
  int mine = pop(), other = blockIdx.x == 1 ? pop() : 0;
  if (other) {
    int was;
    do {
      was = *(volatile int *)&head;
      ((volatile int *)next_)[mine] = was % 8;
      __threadfence();
    } while (atomicCAS(&head, was, mine + (was & ~7) + 8) != was);
    mine = other;
  }
  atomicAdd(&taken[mine], 1);
}
