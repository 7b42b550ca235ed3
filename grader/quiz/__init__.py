"""A lab's questions, a student's answer sheet, and what an answer is worth. No I/O but reading."""
