// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [4, 1, 1], "shared": 0, "args": [["int32", 4, "out"]]}
// expect: invalid-access error line 12
struct Node { int value; Node *next; };
extern "C" __global__ void k(int *out) {
  Node *head = nullptr;
  for (int j = 0; j < 5; ++j) {
    Node *n = (Node *)malloc(sizeof(Node));
    if (!n) return;
    n->value = j * threadIdx.x; n->next = head; head = n;
  }
  int sum = 0;
  for (Node *n = head; n; n = n->next) {
    sum += n->value;
    free(n);
  }
  out[threadIdx.x] = sum;
}
