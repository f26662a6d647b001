"""Bad invocations: one line with cause and remedy, exit code 2, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.cases import CASES, Case
from tests.cli.test_commands import process


def make_files(case: Case, home: Path) -> dict[str, bytes]:
    for name, content in case.files.items():
        path = home / name
        if isinstance(content, str):
            path.write_bytes(content.encode())
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content(path)
    return listing(home)


def listing(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir()}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bad_invocation(case: Case, tmp_path: Path) -> None:
    before = make_files(case, tmp_path)
    done = process(*case.arguments, cwd=tmp_path)
    assert done.returncode == 2, done
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    who = "bc3e" if case.name == "unknown command" else f"bc3e {case.arguments[0]}"
    assert line.startswith(f"{who}: error: ")
    at = 0
    for part in case.says:  # cause first, remedy after it
        assert part in line[at:], line
        at = line.index(part, at) + len(part)
    assert line.endswith((".", "?", "/no/where")), line
    assert listing(tmp_path) == before


def test_there_are_many() -> None:
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


def test_no_message_shows_an_id(call: Any, tmp_path: Path) -> None:
    for case in CASES:
        if case.name in ("duplicate ids", "missing id"):
            make_files(case, tmp_path)
            assert not any(f"o{i}" in call(*case.arguments).err.replace("row ", "") for i in range(1, 7))


def test_an_unexpected_error_is_one_line_and_exit_code_3(
    call: Any, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("bc3e.cli.loading.load_labels", broken)
    done = call("refine", small, "--votes", "clf_*", "--clusters", "clu_*")
    assert done.code == 3
    assert (
        done.err
        == "bc3e refine: internal error: RuntimeError: two lines. Set BC3E_DEBUG=1 for details.\n"
    )


def test_validate_tells_every_problem_at_once(call: Any, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(
        "id,a,p:x,p:y,q:x,q:z,k\n"
        "o1,x,0.5,0.5,1,0,1\n"
        "o1,x,0.7,0.7,1,0,2\n"
        "o3,0.5\n"
        "o4,y,much,0.5,1,0,1\n"
        "o5,y,-1,2,1,0,1\n"
        "o6,y,0.5,,1,0,1\n"
    )
    done = call(
        "validate", "labels.csv", "--votes", "a,p:*,q:*", "--clusters", "k", "--id", "id", "--truth", "t"
    )
    assert done.code == 2
    lines = done.out.splitlines()
    parts = (
        "--truth: no column of labels.csv matches 't'",
        "row 3: 2 cells, but the header has 7",
        "column 'p:x', row 4: 'much' is not a number",
        "group q:*: no column for the class 'y'",
        "column 'id', row 2: the same id as in row 1",
        "row 6: some probabilities are missing",
        "row 5: a negative probability",
        "row 2: probabilities do not sum to 1",
    )
    for part in parts:
        assert sum(part in line for line in lines) == 1, (part, lines)
    assert lines[-1] == "labels.csv: 8 problems; refine would refuse the table."
