"""What estimators share that can be looked at: ``report()``, and the view of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bc3e.report import Report


class Reported:
    """Base of BC3E and ConsensusClassifier."""

    def report(
        self,
        votes: Any = None,
        clusters: Any = None,
        *,
        ids: Any = None,
        truth: Any = None,
        drift: Any = None,
        context: Mapping[str, Any] | None = None,
    ) -> Report:
        """A page on the fit: ``.save("report.html")``, ``.summary``, or shown in a notebook.

        The arguments are those of :func:`bc3e.report.summarize`. A BC3E keeps no
        labels: pass the votes and clusters of the fit to see single objects.
        """
        from bc3e.report import Report, summarize

        found = summarize(
            self,  # type: ignore[arg-type]
            votes=votes, clusters=clusters, ids=ids, truth=truth, drift=drift, context=context,
        )  # fmt: skip
        return Report(found)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows: the report of a fitted model, else its parameters."""
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
            return bundle
        text = str(self.summary())  # type: ignore[attr-defined]
        return {"text/plain": text, "text/html": self.report()._repr_html_()}
