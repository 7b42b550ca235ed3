"""simulator.core.__init__."""
