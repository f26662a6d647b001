"""Tables of the scores: by method, and by method and family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from benchmarks.accuracy.scores import Row

LOSS = 0.5
"""A case is lost if accuracy falls by more than this many points."""


@dataclass(frozen=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def markdown(self) -> str:
        align = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [self.header, align, *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"### {self.title}\n\n{body}\n"


@dataclass(frozen=True)
class Summary:
    """A method on many cases.

    Attributes
    ----------
    gain, losing, worst : float
        Mean gain in points, share of cases that lose more than `LOSS` and
        largest loss over ordinary and spoilt cases.
    no_signal : float
        Largest change of accuracy, either way, where clusterings say nothing.
    misleading : float
        Mean gain where clusterings go with the errors.
    better_log_loss : float
        Share of ordinary and spoilt cases with a lower log-loss than the soft vote.
    log_loss, calibration_error : float
        Means over ordinary and spoilt cases.
    trust_rank : float
        Rank correlation of trust with gain over all cases.
    seconds : float
        In all, one thread.
    failed : int
        Cases without an answer, left out of the rest.
    """

    cases: int
    gain: float
    losing: float
    worst: float
    no_signal: float
    misleading: float
    better_log_loss: float
    log_loss: float
    calibration_error: float
    trust_rank: float
    seconds: float
    failed: int


def summarize(rows: Sequence[Row]) -> Summary:
    answered = [row for row in rows if not row.error]
    real = [row for row in answered if row.group in ("ordinary", "spoilt")]
    gains = np.array([row.gain for row in real])
    silent = [abs(row.gain) for row in answered if row.group == "no-signal"]
    misled = [row.gain for row in answered if row.group == "misleading"]
    return Summary(
        cases=len(rows),
        gain=_mean(gains),
        losing=_mean(gains < -LOSS),
        worst=float(min(gains.min(), 0.0)) if len(gains) else float("nan"),
        no_signal=max(silent, default=float("nan")),
        misleading=_mean(misled),
        better_log_loss=_mean([row.log_loss < row.log_loss_before for row in real]),
        log_loss=_mean([row.log_loss for row in real]),
        calibration_error=_mean([row.calibration_error for row in real]),
        trust_rank=_rank_correlation(answered),
        seconds=sum(row.seconds for row in rows),
        failed=len(rows) - len(answered),
    )


def _mean(values: Sequence[float] | np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _rank_correlation(rows: Sequence[Row]) -> float:
    trust, gain = [row.trust for row in rows], [row.gain for row in rows]
    if len(rows) < 3 or np.isnan(trust).any() or np.ptp(trust) == 0 or np.ptp(gain) == 0:
        return float("nan")
    return float(spearmanr(trust, gain).statistic)


HEADER = (
    "cases", "gain", "losing", "worst", "no-signal", "misleading", "log-loss better", "log-loss",
    "ECE", "trust rank", "seconds", "failed",
)  # fmt: skip


def _cells(found: Summary) -> tuple[str, ...]:
    def number(value: float, pattern: str) -> str:
        return "" if np.isnan(value) else format(value, pattern)

    return (
        str(found.cases),
        number(found.gain, "+.2f"),
        number(found.losing, ".0%"),
        number(found.worst, "+.1f"),
        number(found.no_signal, ".2f"),
        number(found.misleading, "+.1f"),
        number(found.better_log_loss, ".0%"),
        number(found.log_loss, ".3f"),
        number(found.calibration_error, ".3f"),
        number(found.trust_rank, ".2f"),
        number(found.seconds, ".1f"),
        str(found.failed or ""),
    )


def _distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def tables(rows: Sequence[Row]) -> list[Table]:
    """Per split a table of the methods, then for each method one of the families."""
    found = []
    for split in _distinct([row.split for row in rows]):
        here = [row for row in rows if row.split == split]
        names = _distinct([row.method for row in here])
        lines = [(name, *_cells(summarize([r for r in here if r.method == name]))) for name in names]
        found.append(Table(f"{split}: methods", ("method", *HEADER), lines))
        for name in names:
            of_method = [row for row in here if row.method == name]
            families = _distinct([row.family for row in of_method])
            lines = [
                (family, *_cells(summarize([r for r in of_method if r.family == family])))
                for family in families
            ]
            found.append(Table(f"{split}: {name} by family", ("family", *HEADER), lines))
    return found


def case_table(rows: Sequence[Row]) -> Table:
    """Every row, worst first."""
    lines = [
        (
            row.case,
            row.method,
            row.group,
            str(row.n_objects),
            str(row.n_classes),
            f"{row.accuracy - row.gain / 100:.3f}",
            f"{row.gain:+.2f}",
            f"{row.changed:.1%}",
            f"{row.log_loss - row.log_loss_before:+.3f}",
            "" if np.isnan(row.trust) else f"{row.trust:.2f}",
        )
        for row in sorted(rows, key=lambda row: row.gain)
        if not row.error
    ]
    header = (
        "case", "method", "group", "N", "k", "soft vote", "gain", "changed", "log-loss change", "trust",
    )  # fmt: skip
    return Table("cases, worst first", header, lines)
