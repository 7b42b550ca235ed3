"""Benchmarks: one command each, printing a table with ratios measured in one run."""
