"""The one place that touches numba: decorators for the kernels, and the bits of a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first use, cached on disk, free of the GIL.

    Never fastmath: a lower bound that must not fall needs IEEE sums. Threads
    come from Python (see :mod:`bc3e.model.inference`): numba's own threading
    layers may not be entered from two threads at once.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Like :func:`kernel`, put into the caller's loop so that the loop can be vectorised."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return cast(Function, compiled)


def _reinterpreted(result: Any, argument: Any, form: Any) -> Any:
    """A compiled function that reads the 64 bits of its argument as another type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], form)

    return intrinsic(lambda context, value: (result(argument), generate))


bits_of: Callable[[float], int] = _reinterpreted(types.int64, types.float64, ir.IntType(64))
float_of: Callable[[int], float] = _reinterpreted(types.float64, types.int64, ir.DoubleType())
