"""What each PTX instruction gives, family by family: the instruction, and an oracle of its own.

A family's module has `CASES`; `case.module_text` makes one PTX module of them, a kernel each, that
any PTX machine can run on the same inputs.
"""

FAMILIES = ("integer", "logic", "floats", "halves", "convert")
