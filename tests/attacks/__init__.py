"""Hostile submissions of the lab tiled-matmul, each with its expected verdict."""
