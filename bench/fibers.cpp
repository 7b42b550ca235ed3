// A CUDA kernel as plain C++: a fiber for each thread of a block, __syncthreads() switches to the
// next one. Nothing is checked or counted: this is the floor that the simulator is measured from.
//
//   g++ -O2 -DKERNEL='"tiled-matmul.cu"' fibers.cpp && ./a.out N TIMES
//
// prints the best seconds of TIMES products of two N x N matrices, and their largest error.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
static void next_thread();

#define __global__
#define __shared__ static
#define __syncthreads next_thread
#include KERNEL

enum { TILE_WIDTH = 16, THREADS = TILE_WIDTH * TILE_WIDTH, STACK = 16 << 10 };
static float *a, *b, *c;
static int n;

#if defined(__x86_64__)
typedef void *Context;
extern "C" void switch_stack(Context *from, Context to);
asm(".globl switch_stack\n"
    "switch_stack:\n"
    "  push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
    "  ret\n");
static void go(Context *from, Context *to) { switch_stack(from, *to); }
static void prepare(Context *fiber, char *stack, void (*entry)()) {
  void **top = (void **)(stack + STACK - 16);
  *--top = (void *)entry; // the return address; six registers lie below it
  *fiber = top - 6;
}
#else
typedef ucontext_t Context;
static void go(Context *from, Context *to) { swapcontext(from, to); }
static void prepare(Context *fiber, char *stack, void (*entry)()) {
  getcontext(fiber);
  fiber->uc_stack.ss_sp = stack;
  fiber->uc_stack.ss_size = STACK;
  makecontext(fiber, entry, 0);
}
#endif

static Context fiber[THREADS + 1];
static char stack[THREADS][STACK] __attribute__((aligned(64)));
static bool ended[THREADS];
static int running, alive;

static void next_thread() {
  int from = running;
  do running = running == THREADS - 1 ? 0 : running + 1;
  while (alive && ended[running]);
  if (!alive) running = THREADS; // back to the block's loop
  threadIdx = {(unsigned)running % TILE_WIDTH, (unsigned)running / TILE_WIDTH, 0};
  go(&fiber[from], &fiber[running]);
}

static void thread() {
  matmul(a, b, c, n);
  ended[running] = true;
  alive--;
  next_thread();
}

static void block() {
  for (int t = 0; t < THREADS; t++) {
    prepare(&fiber[t], stack[t], thread);
    ended[t] = false;
  }
  alive = THREADS;
  running = 0;
  threadIdx = {0, 0, 0};
  go(&fiber[THREADS], &fiber[0]);
}

static double launch() {
  timespec begun, done;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
  for (unsigned y = 0; y < gridDim.y; y++)
    for (unsigned x = 0; x < gridDim.x; x++) {
      blockIdx = {x, y, 0};
      block();
    }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &done);
  return (double)(done.tv_sec - begun.tv_sec) + 1e-9 * (double)(done.tv_nsec - begun.tv_nsec);
}

int main(int count, char **words) {
  n = count > 1 ? atoi(words[1]) : 256;
  int times = count > 2 ? atoi(words[2]) : 3;
  a = (float *)malloc(sizeof(float) * n * n);
  b = (float *)malloc(sizeof(float) * n * n);
  c = (float *)malloc(sizeof(float) * n * n);
  for (int k = 0; k < n * n; k++) {
    a[k] = (float)(k % 17) / 17;
    b[k] = (float)(k % 13) / 13;
  }
  blockDim = {TILE_WIDTH, TILE_WIDTH, 1};
  gridDim = {(unsigned)n / TILE_WIDTH, (unsigned)n / TILE_WIDTH, 1};
  double best = launch(), worst = 0;
  for (int t = 1; t < times; t++) best = fmin(best, launch());
  for (int row = 0; row < n; row += 7)
    for (int column = 0; column < n; column++) {
      double sum = 0;
      for (int k = 0; k < n; k++) sum += (double)a[row * n + k] * b[k * n + column];
      worst = fmax(worst, fabs(sum - c[row * n + column]));
    }
  printf("%.6f %.3g\n", best, worst);
}
