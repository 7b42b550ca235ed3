"""What a box is made of: the sandbox, the inside, and what passes through the wall."""
