"""simulator.diagnose.__init__."""
