"""The keys of LAUNCH.yaml as models that refuse what is no launch; launchfile has an example."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    model_validator,
)

Dtype = Literal["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                "float16", "float32", "float64"]  # fmt: skip
ArrayDtype = Dtype | Literal["complex64", "complex128"]
Extent = Annotated[StrictInt, Field(ge=0, lt=1 << 32)]


def _axes(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of 1 to 3 whole numbers, such as [16, 16], not `{value}`")
    if not 1 <= len(value) <= 3:
        raise ValueError(f"must be 1 to 3 whole numbers (x, y, z), not {len(value)}")
    return value


def _saved(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.npy", name):
        raise ValueError(
            f"must be a file name that ends in .npy, such as c.npy, without a folder, not `{name}`"
        )
    return name


Axes = Annotated[tuple[Extent, ...], BeforeValidator(_axes)]
SavedName = Annotated[str, AfterValidator(_saved)]


class Strict(BaseModel):
    """Base model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OutModel(Strict):
    """An array that is allocated and starts uninitialized."""

    dtype: ArrayDtype
    shape: tuple[Extent, ...] = Field(max_length=8)


AddressMode = Literal["clamp", "border", "wrap", "mirror"]
_NOT_SIMULATED = {
    "mipmap": "mipmaps",
    "mipmaps": "mipmaps",
    "levels": "mipmaps",
    "cubemap": "cubemaps",
    "anisotropy": "anisotropic filtering",
    "srgb": "sRGB conversion",
    "border_color": "border colors other than 0",
    "border": "border colors other than 0",
}
"""What a texture of CUDA may have, by likely keys, and the two backends refuse."""


class ObjectModel(Strict):
    """What texture and surface objects have in common: the array with their texels."""

    in_: str | None = Field(None, alias="in")
    inout: str | None = None
    out: OutModel | None = None
    of: Annotated[StrictInt, Field(ge=0)] | None = None
    channels: Literal[1, 2, 4] | None = None
    layered: StrictBool | None = None
    save: SavedName | None = None
    initialized: Annotated[StrictInt, Field(ge=0)] | str | None = None

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        for key in given if isinstance(given, dict) else ():
            if key in _NOT_SIMULATED:
                raise ValueError(f"`{key}`: {_NOT_SIMULATED[key]} are not supported")
        return given

    @model_validator(mode="after")
    def _one_array(self) -> Self:
        roles = [r for r in ("in_", "inout", "out", "of") if getattr(self, r) is not None]
        is_texture = isinstance(self, TextureModel)
        choice = "`in` and `of`" if is_texture else "`in`, `inout`, `out` and `of`"
        if len(roles) != 1 or (is_texture and roles[0] not in ("in_", "of")):
            raise ValueError(f"needs exactly one of {choice}: the array with its texels")
        if self.save is not None and (is_texture or roles[0] == "of"):
            raise ValueError("only a surface with an array of its own can be saved")
        if self.initialized is not None and roles[0] not in ("in_", "inout"):
            raise ValueError("only `in` and `inout` take `initialized`")
        return self


class TextureModel(ObjectModel):
    """A cudaTextureObject_t, and how a fetch reads its texels."""

    memory: Literal["array", "linear", "pitch"] | None = None
    address: AddressMode | Annotated[tuple[AddressMode, ...], Field(max_length=3)] | None = None
    filter: Literal["point", "linear"] | None = None
    normalized: StrictBool | None = None
    read: Literal["element", "normalized"] | None = None


class SurfaceModel(ObjectModel):
    """A cudaSurfaceObject_t."""


Number = StrictBool | StrictInt | StrictFloat
Alignment = Literal[1, 2, 4, 8, 16, 32, 64, 128]


class ArgumentModel(Strict):
    """One argument, or one member of a structure: exactly one of the keys of ROLES."""

    in_: str | None = Field(None, alias="in")
    inout: str | None = None
    out: OutModel | None = None
    value: Number | Annotated[tuple[Number, ...], Field(min_length=1, max_length=512)] | None = None
    struct: dict[str, ArgumentModel] | None = Field(None, min_length=1)
    texture: TextureModel | None = None
    surface: SurfaceModel | None = None
    pointer: None = None
    dtype: Dtype | None = None
    save: SavedName | None = None
    initialized: Annotated[StrictInt, Field(ge=0)] | str | None = None
    align: Alignment | None = None

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles = [r for r in ROLES if getattr(self, r) is not None]
        roles += ["pointer"] if "pointer" in self.model_fields_set else []
        if len(roles) != 1:
            raise ValueError(
                "an argument needs exactly one of `in`, `inout`, `out`, `value`, `struct`, "
                "`texture`, `surface` and `pointer: null`"
            )
        is_array = roles[0] in ("in_", "inout", "out")
        if self.value is None and self.dtype is not None:
            raise ValueError("only a `value` takes a `dtype`: a .npy file contains its own")
        if self.value is not None and self.dtype is None:
            raise ValueError("a `value` needs a `dtype`, as in {value: 64, dtype: int32}")
        if not is_array and self.save is not None:
            raise ValueError(f"a `{roles[0]}` cannot be saved: it does not change")
        if roles[0] not in ("in_", "inout") and self.initialized is not None:
            raise ValueError("only `in` and `inout` take `initialized`: an `out` has no values")
        if roles[0] not in ("value", "struct") and self.align is not None:
            raise ValueError("only a `value` and a `struct` take `align`")
        return self


ROLES = ("in_", "inout", "out", "value", "struct", "texture", "surface")
"""The fields of an argument that say what it is; `pointer` is the last."""


class LaunchModel(Strict):
    """The keys of LAUNCH.yaml."""

    kernel: str | None = None
    grid: Axes
    block: Axes
    shared: Annotated[StrictInt, Field(ge=0, lt=1 << 31)] = 0
    cooperative: StrictBool = False
    large_shared: StrictBool = False
    args: tuple[ArgumentModel, ...] = ()
    globals: dict[str, str] = Field(default_factory=dict)
