"""Kernels whose counters and outputs were read on real GPUs; `h*.json` say where and when."""
