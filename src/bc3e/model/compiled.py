"""Decorators for the kernels."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

Function = TypeVar("Function", bound=Callable[..., Any])


def _fingerprint() -> str:
    """Changes with every file of this folder.

    numba's cache looks only at the file of the kernel that is called, and would go on using it when
    a kernel that it calls, in another file, has changed.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return f"{zlib.crc32(b''.join(file.read_bytes() for file in files)):08x}"


FINGERPRINT = _fingerprint()


def kernel(function: Function) -> Function:
    """Compile on first use, cached on disk, free of the GIL.

    Never fastmath: a lower bound that must not fall needs IEEE sums. Threads
    come from Python (see :mod:`bc3e.model.inference`): numba's own threading
    layers may not be entered from two threads at once.
    """
    return _compiled(function, cache=True)


def part(function: Function) -> Function:
    """Like :func:`kernel`, for what only kernels call: no entry from Python, cached with the caller.

    A part makes no arrays, so it need not count who holds those that it is given: in the innermost
    loops that is a twentieth of the time.
    """
    return _compiled(function, no_cpython_wrapper=True, _nrt=False, pipeline_class=_PartCompiler)


class _PartLibrary(JITCodeLibrary):
    """Code of a part, for kernels to take in and to optimise there: nothing else is made of it.

    That is a fifth of the time until the first answer. It must not call itself.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartCompiler(Compiler):
    """numba's compiler, which makes no machine code of a part by itself."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, names: Any
    ) -> None:
        library = library or _PartLibrary(target.codegen(), "part")  # type: ignore[no-untyped-call]
        flags = flags.copy()
        flags.no_compile = True
        super().__init__(typing, target, library, args, result, flags, names)  # type: ignore[no-untyped-call]

    def compile_extra(self, func: Any) -> Any:
        found = super().compile_extra(func)  # type: ignore[no-untyped-call]
        key: Any = [].append  # stands for the part: numba finds its code by a function of Python's own
        found.target_context.insert_user_function(key, found.fndesc, [found.library])
        return found._replace(entry_point=key)


def _compiled(function: Function, **options: Any) -> Function:
    function.__qualname__ += f"_{FINGERPRINT}"  # names the file of the cache
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Function, numba.njit(**options)(function))
