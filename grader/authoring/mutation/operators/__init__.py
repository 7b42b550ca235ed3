"""Mutation operators: functions `<name>_edits(tree)`, one for each kind of mistake.

An operator takes the root of a syntax tree and yields edits in the order of the text. `mutants`
finds it by the name of its function, in any module of this folder; there is no list to edit.
"""
