"""Kernels whose counters and outputs were measured on real GPUs; `h*.json` name them."""
