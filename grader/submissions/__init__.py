"""submissions.__init__."""
