"""warpgrade: an autograding framework for CUDA course labs."""

__version__ = "0.1.0"
