"""Trained classifiers as voters: names, a common class list, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.errors import InputError, InputTypeError
from bc3e.model.evidence import FloatArray


def named_classifiers(given: Any) -> list[tuple[str, Any]]:
    """(name, classifier) pairs from pairs, a mapping, a list of classifiers, or one classifier."""
    if given is None:
        return default_classifiers()
    if isinstance(given, Mapping):
        items = list(given.items())
    elif isinstance(given, list | tuple):
        pairs = [isinstance(item, tuple) and len(item) == 2 for item in given]
        if given and all(pairs):
            items = [(str(name), model) for name, model in given]
        else:
            items = [(type(model).__name__.lower(), model) for model in given]
            items = [(name, items[i][1]) for i, name in enumerate(_numbered([n for n, _ in items]))]
    else:
        items = [(type(given).__name__.lower(), given)]
    if not items:
        raise InputError("classifiers", "an empty list", "Pass at least one classifier.")
    names = [name for name, _ in items]
    if len(set(names)) < len(names):
        raise InputError("classifiers", f"a name occurs twice in {names}", "Give each its own name.")
    for name, model in items:
        if isinstance(model, type) or not (hasattr(model, "predict_proba") or hasattr(model, "predict")):
            raise InputTypeError(
                "classifiers",
                f"{model!r} has neither predict_proba nor predict",
                "Pass (name, classifier) pairs; a class is not a classifier, its instance is.",
                place=f"classifier {name!r}",
            )
    return items


def default_classifiers() -> list[tuple[str, Any]]:
    """Three classifiers that err in different ways; holes and scales are taken care of."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def prepared(model: Any) -> Any:
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=False), model)

    return [
        ("forest", prepared(RandomForestClassifier(200, random_state=0))),
        ("logit", prepared(LogisticRegression(max_iter=1000))),
        ("discriminant", prepared(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))),
    ]


def common_classes(
    members: Sequence[tuple[str, Any]], given: Sequence[Any] | None, said: Mapping[str, Any]
) -> NDArray[Any]:
    """The class list of all classifiers.

    The longest list counts, and every classifier must know only classes of it;
    a classifier without `classes_` knows what it `said`.
    """
    lists = {}
    for name, model in members:
        known = getattr(model, "classes_", None)
        if known is None and hasattr(model, "predict_proba"):
            if given is None:
                raise InputError(
                    "classifiers",
                    "it has predict_proba but no classes_",
                    "Pass classes= in the order of its columns.",
                    place=f"classifier {name!r}",
                )
            known = given
        lists[name] = np.unique(said[name]) if known is None else np.asarray(known)
    if given is not None:
        classes = np.asarray(given)
    else:
        silent = [name for name, model in members if not hasattr(model, "classes_")]
        spoken = [name for name in lists if name not in silent] or list(lists)
        longest = max(spoken, key=lambda name: len(lists[name]))
        classes = lists[longest]
        if len(spoken) == len(silent):  # nobody has a list: whatever was said counts
            classes = np.unique(np.concatenate([lists[name] for name in spoken]))
    known_labels = set(classes.tolist())
    for name, found in lists.items():
        strange = [label for label in found.tolist() if label not in known_labels]
        if strange:
            shown = ", ".join(repr(label) for label in strange[:3])
            raise InputError(
                "classifiers",
                f"it knows the class {shown}, which is not among the {len(classes)} of the others",
                "Combine classifiers of one class list, or pass classes= with all of them.",
                place=f"classifier {name!r}",
            )
    return classes


def votes_of(
    members: Sequence[tuple[str, Any]], X: Any, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], dict[str, FloatArray]]:
    """Class list, and each classifier's probabilities (N, k) or one-hot labels."""
    said = {name: _ask(name, model, X) for name, model in members}
    found = common_classes(members, classes, said)
    votes = {}
    for name, model in members:
        own = getattr(model, "classes_", found)
        votes[name] = _aligned(name, said[name], np.asarray(own), found, X.shape[0])
    return found, votes


def _ask(name: str, model: Any, X: Any) -> NDArray[Any]:
    width = getattr(model, "n_features_in_", None)
    if width is not None and len(X.shape) == 2 and X.shape[1] != width:
        raise InputError(
            "X",
            f"X has {X.shape[1]} features, but classifier {name!r} is expecting {width} features",
            "Pass the features that the classifiers were trained on.",
        )
    return np.asarray(model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X))


def _aligned(
    name: str, said: NDArray[Any], own: NDArray[Any], classes: NDArray[Any], n_objects: int
) -> FloatArray:
    """Votes with one column per class of the common list."""
    position = {label: i for i, label in enumerate(classes.tolist())}
    place = f"classifier {name!r}"
    votes = np.zeros((n_objects, len(classes)))
    if said.ndim == 1:
        unknown = [label for label in np.unique(said).tolist() if label not in position]
        if unknown:
            raise InputError(
                "classifiers",
                f"it predicted {unknown[0]!r}, which is not among the {len(classes)} classes",
                "Pass classes= with every class.",
                place=place,
            )
        votes[np.arange(n_objects), [position[label] for label in said.tolist()]] = 1.0
        return votes
    if said.shape != (n_objects, len(own)):
        raise InputError(
            "classifiers",
            f"predict_proba gave shape {said.shape} for {n_objects} objects and {len(own)} classes",
            "One row per object and one column per class are needed.",
            place=place,
        )
    if not np.isfinite(said).all() or (said < 0).any():
        raise InputError(
            "classifiers",
            "predict_proba gave values that are negative or not finite",
            "Check the classifier on these objects.",
            place=place,
        )
    votes[:, [position[label] for label in own.tolist()]] = said
    total = votes.sum(axis=1, keepdims=True)
    return np.where(total > 0, votes / np.where(total > 0, total, 1.0), 1.0 / len(classes))


def _numbered(names: list[str]) -> list[str]:
    """Names with a number where one occurs more than once."""
    return [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
