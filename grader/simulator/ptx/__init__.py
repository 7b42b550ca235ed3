"""simulator.ptx.__init__."""
