"""Kernels whose counters and outputs were read on a real GPU; `h200.json` says where and when."""
