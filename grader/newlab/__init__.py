"""A new lab to start from: a small one that holds as it is, to be made into another."""
