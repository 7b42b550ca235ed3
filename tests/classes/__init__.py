"""Sample classes: submissions of one lab as students write them, and what each must get."""
