// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: clean
struct Node { int v; Node* next; }; __device__ Node pool[8]; __device__ Node* volatile head;
extern "C" __global__ void k(const int* x, int* y) {
  if(threadIdx.x) return;
  if(blockIdx.x==0) {
    pool[3].v=x[0];
    __threadfence();
    head=&pool[3];
  }
  else {
    Node* p;
    while(!(p=head));
    __threadfence();
    y[0]=p->v;
  }
}
