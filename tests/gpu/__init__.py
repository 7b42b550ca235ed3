"""What only a GPU can show: the backend's own tests, and the ground truth that CI compares with."""
