"""Units are stored when they are done, found again, and never mistaken for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bc3e.errors import InputError
from bc3e.experiments import units
from bc3e.experiments.units import Store, Unit, code_digest, finished, run


def square(number: int, data: str | None) -> dict[str, Any]:
    """Squares a number; `data` is a folder in which it leaves a trace, or in which 'stop' stops it."""
    assert data is not None
    home = Path(data)
    if (home / f"stop-{number}").exists():
        raise KeyboardInterrupt
    with open(home / "trace", "a") as trace:
        trace.write(f"{number}\n")
    return {"square": number**2, "draw": np.random.default_rng(number).random()}


def some(home: Path, count: int = 6) -> list[Unit]:
    return [Unit(f"test/{i}", square, {"number": i}, str(home)) for i in range(count)]


def traces(home: Path) -> list[int]:
    return sorted(int(line) for line in (home / "trace").read_text().split())


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    store, told = Store(tmp_path / "cache"), []
    (tmp_path / "stop-3").touch()
    with pytest.raises(KeyboardInterrupt):
        run(some(tmp_path), store)
    assert traces(tmp_path) == [0, 1, 2]
    assert finished(some(tmp_path), store) is None
    assert finished(some(tmp_path, 3), store) is not None
    (tmp_path / "stop-3").unlink()
    found = run(some(tmp_path), store, advance=lambda done, total: told.append((done, total)))
    assert traces(tmp_path) == [0, 1, 2, 3, 4, 5]  # nothing twice
    assert told == [(4, 6), (5, 6), (6, 6)]
    assert [result["square"] for result in found] == [0, 1, 4, 9, 16, 25]
    assert run(some(tmp_path), store) == found
    assert traces(tmp_path) == [0, 1, 2, 3, 4, 5]


def test_results_do_not_depend_on_order_or_jobs(tmp_path: Path) -> None:
    one = run(some(tmp_path), Store(tmp_path / "one"))
    backwards = run(some(tmp_path)[::-1], Store(tmp_path / "two"))
    at_once = run(some(tmp_path), Store(tmp_path / "three"), jobs=2)
    assert one == backwards[::-1] == at_once


def test_another_code_or_argument_is_another_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = some(tmp_path)[1]
    others = [Unit("test/1", square, {"number": 2}), Unit("test/1", some, {"number": 1})]
    assert len({unit.key, *(other.key for other in others)}) == 3
    assert Unit("x", square, {"number": 1}).key == unit.key  # neither name nor folder count
    before = unit.key
    monkeypatch.setattr(units, "code_digest", lambda: "another")
    assert unit.key != before


def test_the_code_digest_sees_the_model_but_not_the_page() -> None:
    root = Path(units.__file__).parents[1]
    counted = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if not path.relative_to(root).as_posix().startswith(units.NOT_COUNTED)
    ]
    assert {"estimator.py", "model/shrinkage.py", "experiments/transfer.py"} <= set(counted)
    assert not {"cli/main.py", "experiments/page.py", "experiments/section_table2.py"} & set(counted)
    assert len(code_digest()) == 64


@pytest.mark.parametrize("spoilt", ["", "{", "[]", '{"key": "other", "result": {}}', '{"result": 1}'])
def test_a_spoilt_file_is_computed_again(tmp_path: Path, spoilt: str) -> None:
    store, (unit,) = Store(tmp_path / "cache"), some(tmp_path, 1)
    run([unit], store)
    store.path(unit).write_text(spoilt)
    assert store.get(unit) is None
    assert run([unit], store) == [square(0, str(tmp_path))]
    assert json.loads(store.path(unit).read_text())["key"] == unit.key
    assert [path.suffix for path in store.folder.iterdir()] == [".json"]


def test_two_units_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two units of one name"):
        run([*some(tmp_path), *some(tmp_path)], Store(tmp_path))
