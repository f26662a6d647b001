"""The one place that touches numba: a typed decorator for the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first use, cached on disk, free of the GIL.

    Never fastmath: a lower bound that must not fall needs IEEE sums. Threads
    come from Python (see :mod:`bc3e.model.inference`): numba's own threading
    layers may not be entered from two threads at once.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
