"""What an audit found: one line per node, attack and column, and the table of the worst."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bc3e.summary import Section, Summary

MEASURES = {"clusters": "adjusted Rand", "votes": "right guesses", "membership": "area under ROC"}


@dataclass(frozen=True)
class Finding:
    """One attack of one node on one column, or on the objects, of one site.

    Attributes
    ----------
    node : str
        A site, a role without labels, or all roles without labels together.
    attack : {"clusters", "votes", "membership"}
    site, column : str
        Whose labels; the column is empty for membership.
    n_objects : int
    masked : bool
        Parts of the sums that the node reads here came masked.
    success, perplexity : float
        With the whole transcript. Success is the adjusted Rand index, the share of right
        guesses, or the area under the ROC curve; perplexity is 1 if the labels are fully known.
    ideal, ideal_perplexity : float
        With only what the role must be given: totals, parameters, posteriors.
    answer, answer_perplexity : float
        With only the last totals and the answer.
    chance, chance_perplexity : float
        With nothing.
    """

    node: str
    attack: str
    site: str
    column: str
    n_objects: int
    masked: bool
    success: float
    perplexity: float
    ideal: float
    ideal_perplexity: float
    answer: float
    answer_perplexity: float
    chance: float
    chance_perplexity: float


@dataclass(frozen=True)
class Audit:
    """All findings: ``print(audit)``, or the last line of a notebook cell."""

    findings: tuple[Finding, ...]

    def select(self, **wanted: Any) -> Audit:
        """Findings whose fields have the given values: ``audit.select(attack="votes")``."""
        return Audit(
            tuple(f for f in self.findings if all(getattr(f, name) == v for name, v in wanted.items()))
        )

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary per finding, for a data frame or a file."""
        return [asdict(finding) for finding in self.findings]

    def worst(self) -> list[Finding]:
        """For each node and attack the finding with the lowest perplexity against chance."""
        found: dict[tuple[str, str], Finding] = {}
        for f in self.findings:
            key = (f.node, f.attack)
            if key not in found or _exposed(f) > _exposed(found[key]):
                found[key] = f
        return list(found.values())

    def summary(self) -> Summary:
        """The worst case of each node and attack."""
        head = ("node", "attack", "on", "masked", "transcript", "ideal", "answer", "chance")
        worst = self.worst()
        success = tuple(
            (*_about(f), *(f"{value:.2f}" for value in (f.success, f.ideal, f.answer, f.chance)))
            for f in worst
        )
        told = tuple(
            (
                *_about(f),
                *(
                    f"{value:.2f}"
                    for value in (
                        f.perplexity,
                        f.ideal_perplexity,
                        f.answer_perplexity,
                        f.chance_perplexity,
                    )
                ),
            )
            for f in worst
        )
        title = "Success of each node's best attack, worst case"
        return Summary(
            (
                Section(title, head, success),
                Section("Perplexity of the labels: 1 is fully known", head, told),
                Section("Success is measured by", ("attack", "measure"), tuple(MEASURES.items())),
            )
        )

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _about(f: Finding) -> tuple[str, str, str, str]:
    return f.node, f.attack, f"{f.site} {f.column}".strip(), "yes" if f.masked else "no"


def _exposed(finding: Finding) -> float:
    return finding.chance_perplexity / finding.perplexity
