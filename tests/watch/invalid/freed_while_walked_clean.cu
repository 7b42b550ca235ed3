// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [4, 1, 1], "shared": 0, "args": [["int32", 4, "out"]]}
// expect: clean
struct Node { int value; Node *next; };
extern "C" __global__ void k(int *out) {
  Node *head = nullptr;
  for (int j = 0; j < 5; ++j) {
    Node *n = new Node{j * (int)threadIdx.x, head};
    if (!n) return;
    head = n;
  }
  int sum = 0;
  while (head) { Node *n = head; head = n->next; sum += n->value; delete n; }
  out[threadIdx.x] = sum;
}
