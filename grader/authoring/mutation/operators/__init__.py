"""Mutation operators: each function `<name>_edits(tree)` offers the edits of one kind of mistake."""
