"""One file an operator: `edits(tree)` offers the edits of one kind of mistake."""
