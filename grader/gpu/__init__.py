"""The GPU backend: PyCUDA compiles and launches in confined children, and nothing else does."""
