"""The simulator: runs PTX on the CPU, watching every access."""
