"""simulator.decode.__init__."""
