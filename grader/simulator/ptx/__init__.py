"""Parse PTX and relate it to the source.

In: the text of a PTX module. Out: a Module of functions, variables and instructions (`parser`,
`model`), the source's lines behind them (`source_map`), its names (`debug_info`), and the rewrites
that ptxas makes of the optimized variant (`ptxas`). Nothing here gives an instruction a meaning.

Imports no other package or folder of the grader.
"""
