"""A labelled table and a target for ``adapt`` and ``drift``: features, classes, classifiers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.cli.coding import Coded, coded, in_common, refuse_fractions
from bc3e.cli.errors import Problems, fault
from bc3e.cli.loading import check_ids
from bc3e.cli.options import Reading, Training
from bc3e.cli.selection import by_commas
from bc3e.cli.session import Session
from bc3e.cli.tables import FEATURE, LABEL, NUMBER, TEXT, Table, open_table
from bc3e.column_choice import Header
from bc3e.features import LEVELS
from bc3e.model.evidence import FloatArray

ID_NAMES = ("id", "index", "row", "key", "uuid", "", "unnamed: 0")


@dataclass(frozen=True)
class Feature:
    """A column to learn from: numbers, or categories with their levels.

    Each level becomes an indicator; values in `silent` are known, and have none.
    """

    name: str
    levels: tuple[str, ...] | None
    silent: frozenset[str] = frozenset()


TRUTHS, UNTRUTHS = ("true",), frozenset({"false"})  # as one reads them, whatever their case


@dataclass(frozen=True)
class TrainingInput:
    """What ``adapt`` and ``drift`` work on.

    Attributes
    ----------
    X, X_target : (N, d) arrays of numbers, or (N,) arrays of texts
    y : (N,) array
    truth : (N,) array of class numbers or None
        Of the target, -1 where missing, -2 where no class of the training data.
    kept : dict
        Columns of the target that go to the output; the id is the first.
    is_text : bool
    train, target : Table
    """

    X: Any
    y: NDArray[Any]
    X_target: Any
    truth: Any
    kept: dict[str, Any]
    is_text: bool
    train: Table
    target: Table


def load_training(
    session: Session, options: Training, reading: Reading, keep: Sequence[str] | None
) -> TrainingInput:
    """Read both tables, and make numbers of their columns in the same way."""
    if options.train == options.target:
        raise fault("--target", "the same table as --train", "Pass the data of today.")
    train, target = open_table(options.train, reading), open_table(options.target, reading)
    names = _feature_names(session, options, train, target)
    columns = train.read({options.label: LABEL, **dict.fromkeys(names, FEATURE)}, Problems())
    y, labelled = _classes(session, train, options.label, columns)
    features = None
    if options.text is None:
        features = _features(train, names, columns)
    is_text = features is None
    kinds = _target_kinds(names, features)
    singles = [name for name in (options.id,) if name is not None]
    if options.truth is not None:
        target.header.one("truth", options.truth)
        kinds.setdefault(options.truth, LABEL)
    kept = singles + (_columns("keep", keep, target.header) if keep else [])
    kinds.update({name: kinds.get(name, TEXT) for name in kept})
    there = target.read(kinds, Problems())
    if options.id is not None:
        check_ids(target.name, options.id, there.column(options.id), Problems())
    if features is None:
        X, X_target = _texts(train, columns, names[0]), _texts(target, there, names[0])
    else:
        X = _matrix(session, train, columns, features, warn=False)
        X_target = _matrix(session, target, there, features, warn=True)
    truth = None if options.truth is None else _truth(target, there, options.truth, np.unique(y))
    chosen = {name: there.column(name) for name in dict.fromkeys(kept)}
    return TrainingInput(X[labelled], y, X_target, truth, chosen, is_text, train, target)


def default_ensemble(is_text: bool, seed: int) -> list[tuple[str, Any]]:
    """Three classifiers that err in different ways.

    For numbers and categories: a random forest, a logistic regression and a linear
    discriminant (:func:`bc3e.classifiers.default_classifiers`). For texts, on
    weighted words: naive Bayes, a logistic regression and nearest neighbours.
    """
    from bc3e.classifiers import default_classifiers

    if not is_text:
        members = default_classifiers()
        members[0][1].set_params(randomforestclassifier__random_state=seed)
        return members
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    def words() -> Any:
        return TfidfVectorizer(sublinear_tf=True)

    return [
        ("bayes", make_pipeline(words(), MultinomialNB(alpha=0.1))),
        ("logit", make_pipeline(words(), LogisticRegression(C=5, max_iter=1000))),
        ("neighbours", make_pipeline(words(), KNeighborsClassifier(7, metric="cosine"))),
    ]


def _columns(
    argument: str, given: Sequence[str], header: Header, skip: Collection[str] = ()
) -> list[str]:
    return header.matching(argument, by_commas(f"--{argument}", given, header), skip)


def _feature_names(session: Session, options: Training, train: Table, target: Table) -> list[str]:
    """Columns to learn from, which both tables must have."""
    train.header.one("label", options.label)
    if options.id is not None:
        target.header.one("id", options.id)
    not_features = [options.label, *(n for n in (options.id, options.truth) if n is not None)]
    if options.text is not None:
        chosen = [train.header.one("text", options.text)]
    elif options.features:
        chosen = _columns("features", options.features, train.header, not_features)
    else:
        chosen = [name for name in train.names if name not in not_features]
    if options.label in chosen:
        raise fault("--features", f"{options.label!r} is the label", "A label is no feature.")
    if options.drop:
        either = Header([*dict.fromkeys([*train.names, *target.names])], train.name)
        dropped = _columns("drop", options.drop, either)
        chosen = [name for name in chosen if name not in dropped]
    if not chosen:
        raise fault("--features", "no column is left to learn from", "Drop fewer columns.")
    lacking = [name for name in chosen if name not in target.names]
    if lacking:
        raise fault(
            target.name,
            f"no column {lacking[0]!r}, which {train.name} has ({len(lacking)} such columns)",
            "Add it, or leave it out with --drop.",
        )
    if not options.features and options.text is None:
        for name in chosen:
            if name.lower() in ID_NAMES:
                session.note(f"column {name!r} is used as a feature; if it is an id, pass --id {name!r}")
    return chosen


def _classes(
    session: Session, table: Table, name: str, columns: Any
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels, and which rows have one."""
    column = coded(columns.column(name), name, table.name, table.missing)
    refuse_fractions(column, table.name, Problems(), grouped=False)
    (column,), _ = in_common([column])
    labelled = column.codes >= 0
    place = f"{table.name}, column {name!r}"
    if len(column.values) < 2:
        raise fault(place, "fewer than two classes", "Name a column of classes with --label.")
    if len(column.values) > max(2, labelled.sum() // 2):
        raise fault(
            place,
            f"{len(column.values):,} distinct labels in {int(labelled.sum()):,} rows",
            "Name a column of classes with --label.",
        )
    if not labelled.all():
        session.note(f"{int((~labelled).sum()):,} rows of {table.name} have no label and are left out")
    return np.array(column.values)[column.codes[labelled]], labelled


def _features(table: Table, names: Sequence[str], columns: Any) -> list[Feature] | None:
    """What each column is; None if there is but one, and it is prose."""
    import pyarrow as pa

    found = []
    for name in names:
        kind = columns.column(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            found.append(Feature(name, None))
            continue
        if pa.types.is_boolean(kind):
            found.append(Feature(name, TRUTHS, UNTRUTHS))
            continue
        if pa.types.is_null(kind):
            raise fault(
                f"{table.name}, column {name!r}", "every cell is missing", f"Add --drop {name!r}."
            )
        column = _categories(table, columns, name)
        if len(column.values) > LEVELS:
            if len(names) == 1:
                return None
            raise fault(
                f"{table.name}, column {name!r}",
                f"text with {len(column.values):,} distinct values is neither number nor category",
                f"Add --drop {name!r}, or --text {name!r} to learn from its words alone.",
            )
        found.append(Feature(name, tuple(sorted(str(value) for value in column.values))))
    return found


def _categories(table: Table, columns: Any, name: str) -> Coded:
    import pyarrow as pa

    column = columns.column(name)
    if pa.types.is_temporal(column.type) or pa.types.is_nested(column.type):
        raise fault(
            f"{table.name}, column {name!r}",
            f"values of type {column.type} cannot be learned from",
            f"Turn them into numbers, or add --drop {name!r}.",
        )
    return coded(column, name, table.name, table.missing)


def _target_kinds(names: Sequence[str], features: list[Feature] | None) -> dict[str, str]:
    """How the columns of the target are read: as those of the training table were."""
    if features is None:
        return {names[0]: TEXT}
    return {f.name: NUMBER if f.levels is None else LABEL for f in features}


def _matrix(
    session: Session, table: Table, columns: Any, features: list[Feature], *, warn: bool
) -> FloatArray:
    """Numbers as they are, categories as indicators; NaN and no indicator where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    blocks = []
    for feature in features:
        column = columns.column(feature.name)
        if feature.levels is None:
            numbers = pc.cast(column, pa.float64(), safe=False).to_numpy()
            _refuse_infinite(table.name, feature.name, numbers)
            blocks.append(numbers[:, None])
            continue
        found = _categories(table, columns, feature.name)
        position = {level: i for i, level in enumerate(feature.levels)}
        words = [str(value).lower() if feature.silent else str(value) for value in found.values]
        places = [position.get(word, -1) for word in words]
        strange = sum(word not in position and word not in feature.silent for word in words)
        if strange and warn:
            session.note(
                f"column {feature.name!r} of {table.name} has {strange} values never seen in training"
            )
        indicators = np.vstack([np.eye(len(position)), np.zeros(len(position))])
        blocks.append(indicators[np.array([*places, -1])[found.codes]])
    return np.hstack(blocks)


def _refuse_infinite(where: str, name: str, numbers: FloatArray) -> None:
    bad = np.flatnonzero(np.isinf(numbers))
    if len(bad):
        raise fault(
            f"{where}, column {name!r}, row {bad[0] + 1}",
            "an infinite number",
            "Correct it, or leave the cell empty if it is missing.",
        )


def _texts(table: Table, columns: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = columns.column(name)
    try:
        text = pc.fill_null(pc.cast(column, pa.string()), "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise fault(
            f"{table.name}, column {name!r}", f"values of type {column.type}, not text", "Use text."
        ) from None
    return np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)


def _truth(table: Table, columns: Any, name: str, classes: NDArray[Any]) -> NDArray[np.intp]:
    """True labels of the target as class numbers."""
    column = coded(columns.column(name), name, table.name, table.missing)
    (column,), _ = in_common([column])
    known: Mapping[str, int] = {str(label): i for i, label in enumerate(classes.tolist())}
    places = np.array([*(known.get(str(value), -2) for value in column.values), -1], dtype=np.intp)
    if not (places >= 0).any():
        raise fault(
            f"{table.name}, column {name!r}",
            "no label is a class of the training data",
            "Check --truth.",
        )
    found: NDArray[np.intp] = places[column.codes]
    return found
