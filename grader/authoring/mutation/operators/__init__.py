"""Mutation operators: functions `<name>_edits(tree)`, one for each kind of mistake."""
