"""Hostile submissions of the lab tiled-matmul, each with the verdict that it must get."""
