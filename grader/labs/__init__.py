"""A lab's own files (`lab.yaml`, `thresholds.yaml`) read, checked and made into a `Lab`."""



