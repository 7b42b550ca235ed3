// refuses atomicCAS, in PTX atom.cas.b128 at line 6: (128-bit values)
extern "C" __global__ void k(float *p) {
  using Wide = unsigned __int128;
  Wide *at = reinterpret_cast<Wide *>(p), old = 0, seen;
  do seen = old;
  while ((old = atomicCAS(at, seen, seen + 1)) != seen);
}
