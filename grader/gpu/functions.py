"""Load a kernel in a child process that has a CUDA context, for a usual or cooperative launch."""

from __future__ import annotations

import ctypes
from typing import Any

from grader.launch import Launch


class CooperativeFunction:
    """A kernel whose blocks run at the same time, so that grid.sync() works.

    It is used as PyCUDA's functions are, which have no cooperative launch. The launch is on the
    default stream.

    Raises:
        cuda.LogicError: the driver refuses a call; the message ends in the driver's text.
    """

    def __init__(self, cuda: Any, driver: Any, handle: ctypes.c_void_p) -> None:
        self._cuda, self._driver, self._handle = cuda, driver, handle

    def __call__(self, *arguments: Any, block: Any, grid: Any, shared: int = 0) -> None:
        """Launch the kernel with NumPy scalars."""
        held = [ctypes.create_string_buffer(a.tobytes(), a.nbytes) for a in arguments]
        places = [ctypes.cast(h, ctypes.c_void_p) for h in held]
        given = (ctypes.c_void_p * max(len(places), 1))(*places)
        code = self._driver.cuLaunchCooperativeKernel(
            self._handle, *map(int, grid), *map(int, block), int(shared), None, given
        )
        require(self._cuda, self._driver, code, "cuLaunchCooperativeKernel")

    def prepare(self, arguments: Any) -> CooperativeFunction:
        """Return itself: nothing depends on the types of the arguments."""
        return self

    def prepared_async_call(
        self, grid: Any, block: Any, stream: None, *arguments: Any, shared_size: int = 0
    ) -> None:
        """Launch the kernel on the default stream."""
        self(*arguments, block=block, grid=grid, shared=shared_size)

    def set_attribute(self, number: Any, value: int) -> None:
        """Set an attribute, by its number in CUfunction_attribute."""
        code = self._driver.cuFuncSetAttribute(self._handle, int(number), value)
        require(self._cuda, self._driver, code, "cuFuncSetAttribute")

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        code = self._driver.cuFuncGetAttribute(ctypes.byref(value), number, self._handle)
        require(self._cuda, self._driver, code, "cuFuncGetAttribute")
        return value.value

    # The numbers are those of CUfunction_attribute.
    shared_size_bytes = property(lambda self: self._attribute(1), doc="Static shared memory.")
    local_size_bytes = property(lambda self: self._attribute(3), doc="Local memory of a thread.")
    num_regs = property(lambda self: self._attribute(4), doc="Registers of a thread.")


class CooperativeModule:
    """A cubin in the current context, loaded by the driver's own interface."""

    def __init__(self, cuda: Any, driver: Any, cubin: bytes) -> None:
        self._cuda, self._driver, self._handle = cuda, driver, ctypes.c_void_p()
        code = driver.cuModuleLoadData(ctypes.byref(self._handle), cubin)
        require(cuda, driver, code, "cuModuleLoadData")

    def get_function(self, symbol: str) -> CooperativeFunction:
        """Return a kernel by its symbol."""
        found = ctypes.c_void_p()
        name = symbol.encode()
        code = self._driver.cuModuleGetFunction(ctypes.byref(found), self._handle, name)
        require(self._cuda, self._driver, code, "cuModuleGetFunction")
        return CooperativeFunction(self._cuda, self._driver, found)

    def get_global(self, name: str) -> tuple[int, int]:
        """Return the address and the size in bytes of a variable."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        code = self._driver.cuModuleGetGlobal_v2(
            ctypes.byref(address), ctypes.byref(size), self._handle, name.encode()
        )
        require(self._cuda, self._driver, code, "cuModuleGetGlobal")
        return address.value, size.value


def load_module(cuda: Any, cubin: bytes, *, cooperative: bool) -> Any:
    """Load a cubin, so that its kernels are launched cooperatively or as usual."""
    if cooperative:
        return CooperativeModule(cuda, ctypes.CDLL("libcuda.so.1"), cubin)
    return cuda.module_from_buffer(cubin)


def kernel_of(cuda: Any, module: Any, symbol: str, launch: Launch) -> Any:
    """Return the kernel of a launch, allowed the dynamic shared memory that the launch has.

    Raises:
        cuda.LogicError: this GPU has less shared memory.
    """
    kernel = module.get_function(symbol)
    if launch.large_shared:
        most = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        kernel.set_attribute(most, launch.shared)
    return kernel


def require(cuda: Any, driver: Any, code: int, call: str) -> None:
    """Raise cuda.LogicError with the driver's text where a call returned an error."""
    if not code:
        return
    text = ctypes.c_char_p()
    driver.cuGetErrorString(code, ctypes.byref(text))
    raise cuda.LogicError(f"{call} failed: {(text.value or b'').decode()}")
