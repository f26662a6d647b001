"""The classifiers of a ConsensusClassifier: which they are, what they are shown, what they say."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from bc3e.classifiers import named_classifiers, votes_of
from bc3e.errors import InputError
from bc3e.features import as_features, is_frame, is_text, take_rows
from bc3e.model.evidence import FloatArray


class Consulting(_BaseComposition):  # type: ignore[misc]
    """Base of ConsensusClassifier: features are checked here, and put to the classifiers."""

    classifiers: Any
    classes: Any
    classes_: NDArray[Any]
    _given: Any
    _texts: bool

    @abstractmethod
    def _forget(self) -> None:
        """Drop what was learned with other classifiers."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with `deep`, also those of the named classifiers."""
        if not _are_pairs(self.classifiers):
            found: dict[str, Any] = super().get_params(deep=False)
            return found
        nested: dict[str, Any] = self._get_params("classifiers", deep=deep)
        return nested

    def set_params(self, **params: Any) -> Self:
        """Set parameters, such as ``tree__max_depth`` of the classifier named "tree"."""
        if _are_pairs(params.get("classifiers", self.classifiers)):
            self._set_params("classifiers", **params)
        else:
            super().set_params(**params)
        return self

    def _read_training(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        if is_text(np.asarray(X)) if not hasattr(X, "shape") else is_text(X):
            X, labels = np.asarray(X), column_or_1d(y, warn=True)
            self.n_features_in_, self._texts = 1, True
        elif is_frame(X):
            validate_data(self, X, skip_check_array=True)
            labels = column_or_1d(y, warn=True)
        else:
            X, labels = validate_data(
                self, X, y, accept_sparse=["csr"], ensure_all_finite="allow-nan", dtype=None
            )
        X = as_features(X)
        self._texts = is_text(X)
        if len(labels) != X.shape[0]:
            raise InputError("y", f"{len(labels)} labels for {X.shape[0]} objects", "Pass one each.")
        check_classification_targets(labels)
        return X, labels

    def _read_target(self, X: Any, most: int | None = None) -> tuple[Any, dict[str, FloatArray]]:
        """The target (or a sample of at most so many objects) and what the classifiers say of it."""
        if not hasattr(self, "_members") or self._given is not self.classifiers:
            self._forget()
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    delattr(self, name)
            self._members = named_classifiers(self.classifiers)
            self._given = self.classifiers
            self.estimators_ = [model for _, model in self._members]
        X = as_features(X)
        fresh = not hasattr(self, "n_features_in_")
        try:
            X = self._checked(X)
            if most is not None and X.shape[0] > most:
                chosen = np.zeros(X.shape[0], dtype=bool)
                chosen[np.random.default_rng(0).permutation(len(chosen))[:most]] = True
                X = take_rows(X, chosen)
            return X, self._votes(X)
        except Exception:
            if fresh:  # a mistake must not be remembered
                self._texts = False
                if hasattr(self, "n_features_in_"):
                    del self.n_features_in_
            raise

    def _checked(self, X: Any) -> Any:
        if is_text(X):
            if hasattr(self, "n_features_in_") and not self._texts:
                raise InputError("X", "texts", "The model knows columns of features: pass those.")
            self.n_features_in_, self._texts = 1, True
            return X
        if getattr(self, "_texts", False):
            raise InputError("X", "not a list of texts", "The model knows texts: pass those.")
        self._texts = False
        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=not hasattr(self, "n_features_in_"))
        else:
            X = validate_data(
                self,
                X,
                accept_sparse=["csr"],
                ensure_all_finite="allow-nan",
                dtype=None,
                reset=not hasattr(self, "n_features_in_"),
            )
        return X

    def _votes(self, X: Any) -> dict[str, FloatArray]:
        known = self.classes_.tolist() if hasattr(self, "classes_") else self.classes
        classes, votes = votes_of(self._members, X, known)
        if not hasattr(self, "classes_"):
            self.classes_ = classes
        return votes

    def _class_numbers(self, y: Any) -> NDArray[np.intp]:
        position = {label: i for i, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(y).tolist()
        strange = [label for label in labels if label not in position]
        if strange:
            raise InputError("y", f"unknown class {strange[0]!r}", "Pass labels of known classes.")
        return np.array([position[label] for label in labels], dtype=np.intp)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            members = [get_tags(model).input_tags for _, model in named_classifiers(self.classifiers)]
        except (AttributeError, InputError, TypeError):
            return tags  # classifiers that are not scikit-learn's
        tags.input_tags.sparse = all(member.sparse for member in members)
        tags.input_tags.allow_nan = all(member.allow_nan for member in members)
        return tags


def _are_pairs(classifiers: Any) -> bool:
    """Whether classifiers have names by which their parameters can be reached."""
    return isinstance(classifiers, list) and all(
        isinstance(item, tuple) and len(item) == 2 for item in classifiers
    )
