"""Accuracy of consensus methods on many targets, see `benchmarks.accuracy.run`."""

from benchmarks.accuracy.cases import Case, load_cases

__all__ = ["Case", "load_cases"]
