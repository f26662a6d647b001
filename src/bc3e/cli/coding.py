"""Labels as the file has them -> codes and a short list of values, without visiting rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from bc3e.cli.errors import Problems, fault
from bc3e.coding import Coded, as_labels, first_fraction, in_common

__all__ = ["Coded", "as_labels", "coded", "in_common", "refuse_fractions"]


def coded(column: Any, name: str, where: str, missing: Collection[str]) -> Coded:
    """Codes and distinct values of an Arrow column; words for missing become -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        kind = column.type
        allowed = (
            pa.types.is_integer(kind), pa.types.is_floating(kind), pa.types.is_boolean(kind),
            pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_null(kind),
        )  # fmt: skip
        if not any(allowed):
            raise fault(
                f"{where}, column {name!r}",
                f"labels of type {kind}",
                "Labels are whole numbers, text or booleans.",
            )
        column = pc.dictionary_encode(column)
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    codes = pc.fill_null(whole.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    values = whole.dictionary.to_pylist()
    gone = [v is None or (isinstance(v, float) and v != v) or v in missing for v in values]
    return Coded(name, codes, values).without(gone)


def refuse_fractions(column: Coded, where: str, problems: Problems, *, grouped: bool) -> None:
    """Numbers that are not whole are probabilities, or a target of regression: no labels."""
    at = first_fraction(column.values)
    if at is None:
        return
    row = problems.row(np.flatnonzero(column.codes == at)[0])
    remedy = (
        f"Name columns of probabilities {column.name}:CLASS and ask for '{column.name}:*'."
        if grouped
        else "Name a column of classes."
    )
    raise fault(
        f"{where}, column {column.name!r}, row {row}",
        f"{column.values[at]} is not a whole number, so no label",
        remedy,
    )
