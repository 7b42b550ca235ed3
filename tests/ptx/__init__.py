"""The results of each PTX instruction, by family: the instruction and its own oracle.

A family's module has `CASES`; `case.module_text` makes one PTX module of them, a kernel each, that
any PTX machine can run on the same inputs.
"""

FAMILIES = ("integer", "logic", "floats", "halves", "convert", "narrow", "packed")
