"""Sixteen numbers that compiled code treats as one: :class:`Lanes`.

A compiler turns a loop over sixteen places of an array into vector instructions only if it can prove
that nothing else lies there, and checks it anew at every loop if it cannot. A kernel that says
itself that sixteen numbers go together leaves it nothing to prove: the instructions are those of
the processor's widest registers, and values stay in them from one line to the next.

Nothing is reordered, so a lane gets to the last bit what it would get alone. A product that is
added to something, or taken from it, is not rounded before: one fused instruction does both. That is
decided here and not by the compiler, so it is the same on every machine.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, models, register_model
from numpy.typing import NDArray

from bc3e.model.evidence import LANES

intrinsic: Any = extending.intrinsic  # for a type checker its results cannot be called

FLOATS = ir.VectorType(ir.DoubleType(), LANES)
BITS = ir.VectorType(ir.IntType(64), LANES)


class Lanes(Protocol):
    """One number for each of :data:`LANES` objects. Exists in compiled code only."""

    def __add__(self, other: Lanes | float) -> Lanes: ...
    def __radd__(self, other: float) -> Lanes: ...
    def __sub__(self, other: Lanes | float) -> Lanes: ...
    def __rsub__(self, other: float) -> Lanes: ...
    def __mul__(self, other: Lanes | float) -> Lanes: ...
    def __rmul__(self, other: float) -> Lanes: ...
    def __truediv__(self, other: Lanes | float) -> Lanes: ...
    def __rtruediv__(self, other: float) -> Lanes: ...


class LanesType(types.Type):
    """What numba calls the type of :class:`Lanes`."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    """A vector of floating-point numbers, wherever it is kept."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)  # type: ignore[no-untyped-call]


def _spread(builder: Any, number: Any) -> Any:
    """A vector of one number."""
    empty = ir.Constant(FLOATS, ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, places)


def _vectors(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    """Operands as vectors, single numbers spread over all lanes."""
    found = []
    for kind, value in zip(kinds, values, strict=True):
        if kind is not lanes:
            value = _spread(builder, context.cast(builder, value, kind, types.float64))
        found.append(value)
    return found


def _fits(kinds: tuple[Any, ...]) -> bool:
    """Whether an operation is one of lanes, or of lanes and single numbers."""
    return lanes in kinds and all(kind is lanes or isinstance(kind, types.Float) for kind in kinds)


def _is_product(value: Any) -> bool:
    return getattr(value, "opname", None) == "fmul"


def _fused(builder: Any, product: Any, more: Any, *, minus: bool = False) -> Any:
    """The factors of a product multiplied, or minus one of them, and `more` added, rounded once."""
    left, right = product.operands
    kind, name = ir.FunctionType(FLOATS, [FLOATS] * 3), f"llvm.fma.v{LANES}f64"
    function = get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, [builder.fneg(left) if minus else left, right, more])


def _add(builder: Any, left: Any, right: Any) -> Any:
    if _is_product(right):
        return _fused(builder, right, left)
    return _fused(builder, left, right) if _is_product(left) else builder.fadd(left, right)


def _subtract(builder: Any, left: Any, right: Any) -> Any:
    if _is_product(right):
        return _fused(builder, right, left, minus=True)
    return _fused(builder, left, builder.fneg(right)) if _is_product(left) else builder.fsub(left, right)


def _operator(symbol: Any, emit: Callable[..., Any]) -> None:
    """Let compiled code apply an operator of Python to lanes, one instruction for all of them.

    Templates for one kind of machine are looked at before those for all. This one says that it is for
    this kind, or else every operator of lanes would first be held against all that numba knows of
    numbers, arrays and dates: a tenth of the work of compiling.
    """

    class OfLanes(AbstractTemplate):
        key = symbol

        def generic(self, arguments: Any, keywords: Any) -> Any:
            return lanes(*arguments) if len(arguments) == 2 and _fits(arguments) else None

    OfLanes.metadata = {"target": "cpu"}
    infer_global(symbol)(OfLanes)  # type: ignore[no-untyped-call]

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = _vectors(context, builder, signature.args, arguments)
        return emit(builder, left, right)

    for kinds in ((LanesType, LanesType), (LanesType, types.Float), (types.Float, LanesType)):
        lower_builtin(symbol, *kinds)(lower)  # type: ignore[no-untyped-call]


_operator(operator.add, _add)
_operator(operator.sub, _subtract)
_operator(operator.mul, lambda builder, left, right: builder.fmul(left, right))
_operator(operator.truediv, lambda builder, left, right: builder.fdiv(left, right))


def _pair(emit: Callable[..., Any]) -> Any:
    """A compiled function of two operands, each of them lanes or one number for all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit(builder, *_vectors(context, builder, signature.args, arguments))

    return intrinsic(lambda context, left, right: (lanes(left, right), generate))


def _flags(builder: Any, mask: Any) -> Any:
    return builder.uitofp(mask, FLOATS)


# A comparison gives 1 where it holds and 0 where it does not; with a NaN it never holds.
at_least: Callable[[Lanes | float, Lanes | float], Lanes] = _pair(
    lambda builder, left, right: _flags(builder, builder.fcmp_ordered(">=", left, right))
)
larger: Callable[[Lanes | float, Lanes | float], Lanes] = _pair(
    lambda builder, left, right: builder.select(builder.fcmp_ordered("<", left, right), right, left)
)
smaller: Callable[[Lanes | float, Lanes | float], Lanes] = _pair(
    lambda builder, left, right: builder.select(builder.fcmp_ordered(">", left, right), right, left)
)


def _magnitude(context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.and_(builder.bitcast(arguments[0], BITS), ir.Constant(BITS, [2**63 - 1] * LANES))
        return builder.bitcast(bits, FLOATS)

    return lanes(lanes), generate


def _where(context: Any, flag: Any, yes: Any, no: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = builder.fcmp_ordered("!=", arguments[0], ir.Constant(FLOATS, [0.0] * LANES))
        yes, no = _vectors(context, builder, signature.args[1:], arguments[1:])
        return builder.select(mask, yes, no)

    return lanes(lanes, yes, no), generate


def _any_of(context: Any, flag: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = builder.fcmp_ordered("!=", arguments[0], ir.Constant(FLOATS, [0.0] * LANES))
        whole = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(mask, whole), ir.Constant(whole, 0))

    return types.boolean(lanes), generate


def _alike(context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return lanes(types.float64), generate


magnitude: Callable[[Lanes], Lanes] = intrinsic(_magnitude)
where: Callable[[Lanes, Lanes | float, Lanes | float], Lanes] = intrinsic(_where)
any_of: Callable[[Lanes], bool] = intrinsic(_any_of)
alike: Callable[[float], Lanes] = intrinsic(_alike)  # the same number in every lane


def _place(context: Any, builder: Any, kind: Any, array: Any, indices: Any) -> Any:
    """Address of an element of an array whose last axis has no gaps."""
    found = context.make_array(kind)(context, builder, array)
    if len(indices) == 1:
        return builder.gep(found.data, indices)
    stride = builder.extract_value(found.strides, 0)
    byte = builder.bitcast(found.data, ir.IntType(8).as_pointer())
    row = builder.gep(byte, [builder.mul(indices[0], stride)])
    return builder.gep(builder.bitcast(row, found.data.type), indices[1:])


def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Consecutive elements of an array, from a place on, as lanes."""
    kind, array, indices = signature.args[0], arguments[0], arguments[1:]
    element = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
    vector = ir.VectorType(element, LANES)
    place = _place(context, builder, kind, array, indices)
    value = builder.load(builder.bitcast(place, vector.as_pointer()), align=kind.dtype.bitwidth // 8)
    return value if vector == FLOATS else builder.fpext(value, FLOATS)


def _get(context: Any, array: Any, at: Any) -> Any:
    return lanes(array, types.intp), _load


def _get_row(context: Any, array: Any, row: Any, at: Any) -> Any:
    return lanes(array, types.intp, types.intp), _load


def _put(context: Any, array: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1:2])
        builder.store(arguments[2], builder.bitcast(place, FLOATS.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


get: Callable[[NDArray[np.float64], int], Lanes] = intrinsic(_get)
get_row: Callable[[NDArray[np.floating[Any]], int, int], Lanes] = intrinsic(_get_row)
put: Callable[[NDArray[np.float64], int, Lanes], None] = intrinsic(_put)


def _by_bits(emit: Callable[..., Any]) -> Callable[[Lanes], Lanes]:
    """A compiled function of the bits of numbers; `emit` gets a maker of constants, too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], BITS)
        found = emit(builder, bits, lambda number: ir.Constant(BITS, [number] * LANES))
        return builder.bitcast(found, FLOATS)

    found: Callable[[Lanes], Lanes] = intrinsic(lambda context, number: (lanes(lanes), generate))
    return found


_SQRT_HALF = 0x3FE6A09E667F3BCD


def _exponent(builder: Any, bits: Any, constant: Any) -> Any:
    """The n of a number 2^n f with f in [sqrt(1/2), sqrt(2))."""
    return builder.ashr(builder.sub(bits, constant(_SQRT_HALF)), constant(52))


# SHIFT + n as 2^n; SHIFT + n of a number 2^n f, and f.
SHIFT = 6755399441055744.0  # 1.5 * 2^52: added to a small number, it leaves the nearest whole one
power_of_two = _by_bits(
    lambda builder, bits, constant: builder.shl(builder.add(bits, constant(1023)), constant(52))
)
shifted_exponent = _by_bits(
    lambda builder, bits, constant: builder.add(
        _exponent(builder, bits, constant), constant(0x4338000000000000)
    )
)
fraction = _by_bits(
    lambda builder, bits, constant: builder.sub(
        bits, builder.shl(_exponent(builder, bits, constant), constant(52))
    )
)
