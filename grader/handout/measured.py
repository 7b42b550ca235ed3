"""What a GPU measured for the figures that need one: handouts/data/ladder.json.

`python -m bench.ladder` writes it. Rates are in FLOP/s, bandwidth in bytes a second, sizes are n of
an n x n x n product; `labs` has, for each lab with a speed check, what one launch of its solution
has to do (FLOP and bytes, as its lab.yaml says) and the seconds it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.fault import LabFault
from grader.labfile.spec import lab_roots

CUBLAS = "cuBLAS"
"""Its name among the rungs."""


class Work(BaseModel):
    """One launch of a lab's solution."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    flop: float = Field(gt=0)
    bytes: float = Field(gt=0)
    seconds: float = Field(gt=0)


class Measured(BaseModel):
    """The file: who measured, and what."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    device: str
    driver: str
    date: str
    flop_rate: float = Field(gt=0)
    bandwidth: float = Field(gt=0)
    sizes: tuple[int, ...]
    rungs: Mapping[str, tuple[float, ...]]
    labs: Mapping[str, Work]

    @property
    def source(self) -> str:
        """One line that says where the numbers come from."""
        return f"{self.device}, driver {self.driver}, {self.date}"


def data_file() -> Path:
    """Where the numbers are kept."""
    return lab_roots()[0].parent / "handouts" / "data" / "ladder.json"


def measured() -> Measured | None:
    """The numbers; None when nobody has measured yet. Raises LabFault: the file is not right."""
    path = data_file()
    if not path.is_file():
        return None
    try:
        return Measured.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        mend = "measure again: python -m bench.ladder"
        raise LabFault(f"{place}: {first['msg']}", where=str(path), mend=mend) from None
