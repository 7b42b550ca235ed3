// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 8, "zero"]]}
// expect: lost-update error line 10 variable head
__device__ int head = 1, next_[5] = {0, 2, 3, 4, 0};
__device__ int pop() {
  int first, then;
  do {
    first = *(volatile int *)&head;
    __threadfence();
    then = first ? ((volatile int *)next_)[first] : 0;
  } while (first && atomicCAS(&head, first, then) != first);
  return first;
}
extern "C" __global__ void k(int *unused, int *taken) {
  int mine = pop(), other = blockIdx.x == 1 ? pop() : 0;
  if (other) {
    int was;
    do {
      ((volatile int *)next_)[mine] = was = *(volatile int *)&head;
      __threadfence();
    } while (atomicCAS(&head, was, mine) != was);
    mine = other;
  }
  atomicAdd(&taken[mine], 1);
}
