"""The progress bar of a fit: iteration, bound and delta2, on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bc3e.model.schedule import Progress as Step


class FitProgress:
    """Shows EM iterations while it is open."""

    def __init__(self, max_iter: int) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("bound {task.fields[bound]}  delta2 {task.fields[delta2]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self.max_iter = max_iter
        self.tasks: dict[str, int] = {}

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def show(self, step: Step) -> None:
        bound, delta2 = f"{step.lower_bound:.6g}", f"{step.parameters.delta2:.3g}"
        if step.start not in self.tasks:
            self.tasks[step.start] = self.bar.add_task(
                f"BC3E from {step.start}", total=self.max_iter, bound=bound, delta2=delta2
            )
        task = self.bar.tasks[self.tasks[step.start]].id
        self.bar.update(task, completed=step.iteration, bound=bound, delta2=delta2)
