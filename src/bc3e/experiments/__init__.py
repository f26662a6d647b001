"""Data sets and experiments that show what the method does."""

from bc3e.experiments.confusion import confusion_groups
from bc3e.experiments.neighbours import TitleNeighbours

__all__ = ["TitleNeighbours", "confusion_groups"]
