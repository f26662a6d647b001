"""What all commands share: configuration, thresholds, overwriting, reports."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bc3e.cli.errors import CommandError
from bc3e.cli.outputs import Outputs
from tests.cli.conftest import LABELS

VOTES = ("--votes", "clf_*,s:*", "--clusters", "clu_*", "--id", "id")


def test_config_has_every_option_and_the_command_line_wins(
    call: Any, small: Path, tmp_path: Path
) -> None:
    first = call(
        "refine",
        small,
        *VOTES,
        "-o",
        "one.csv",
        "--seed",
        "3",
        "--delta2",
        "0.5",
        "--save-config",
        "c.toml",
    )
    assert first.code == 0
    saved = (tmp_path / "c.toml").read_text()
    options = tomllib.loads(saved)["refine"]
    assert options == {
        "table": str(small), "votes": ["clf_*,s:*"], "clusters": ["clu_*"], "id": "id",
        "output": "one.csv", "seed": 3, "delta2": "0.5",
    }  # fmt: skip
    for name in ("max_iter", "evidence_weight", "encoding", "fail_on", "report", "force", "quiet"):
        assert f"# {name} =" in saved  # shown, and at its default
    again = call("refine", "--config", "c.toml", "-o", "two.csv")
    assert again.code == 0, again.err
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_every_commented_line_of_a_saved_config_can_be_used(
    call: Any, small: Path, tmp_path: Path
) -> None:
    assert call("refine", small, *VOTES, "-o", "one.csv", "--save-config", "c.toml").code == 0
    lines = (tmp_path / "c.toml").read_text().splitlines()
    live = [line.removeprefix("# ") for line in lines if not line.endswith(" =")]
    (tmp_path / "all.toml").write_text("\n".join(live))
    done = call("refine", "--config", "all.toml", "--force")
    assert done.code == 0, done.err


def test_config_values_of_all_kinds(call: Any, small: Path, tmp_path: Path) -> None:
    text = (
        f"[refine]\ntable = {json.dumps(str(small))}\nvotes = 'clf_*'\nclusters = ['clu_1', 'clu_2']\n"
        "evidence-weight = [1, 2]\ndelta2 = 0.5\njson = true\ncalibration = false\nclasses = ['cat', 'dog']\n"
    )
    (tmp_path / "c.toml").write_text(text)
    done = call("refine", "--config", "c.toml")
    assert done.code == 0, done.err
    assert json.loads(done.out)["delta2"] == 0.5


def test_published_keeps_what_was_given_beside_it(call: Any, small: Path) -> None:
    plain = json.loads(call("refine", small, *VOTES, "--published", "--json").out)
    short = json.loads(call("refine", small, *VOTES, "--published", "--max-iter", "1", "--json").out)
    assert plain["iterations"] > 1
    assert short["iterations"] == 1


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("changed>=0", 1),
        ("changed>100%", 0),
        ("trust<2", 1),
        ("confidence<10%", 0),
        ("gain<-1,entropy>=0", 1),
    ],
)
def test_fail_on(condition: str, code: int, call: Any, small: Path, tmp_path: Path) -> None:
    done = call(
        "refine", small, *VOTES, "--truth", "y", "-o", "out.csv", "--fail-on", condition, "--json"
    )
    assert done.code == code
    assert len(json.loads(done.out)["failed"]) == len(done.err.splitlines()) == code
    assert (tmp_path / "out.csv").exists()  # the labels are good, the figure is not


def test_quiet_says_nothing(call: Any, small: Path) -> None:
    done = call("refine", small, *VOTES, "-o", "out.csv", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_nothing_is_overwritten_without_force(call: Any, small: Path, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("precious")
    os.chmod(tmp_path / "out.csv", 0o640)
    assert call("refine", small, *VOTES, "-o", "out.csv").code == 2
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert call("refine", small, *VOTES, "-o", "out.csv", "--force").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("id,label")
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


def test_new_files_follow_the_umask(call: Any, small: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert call("refine", small, *VOTES, "-o", "out.csv").code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with Outputs(force=False) as outputs:
        outputs.plan("--output", str(target))
        outputs.write("--output", str(target), lambda f: f.write(b"new") and None)
        target.write_text("precious")
        with pytest.raises(CommandError, match="has appeared"):
            outputs.commit()
    assert os.listdir(tmp_path) == ["out.csv"]
    assert target.read_text() == "precious"


def test_a_link_is_followed(call: Any, small: Path, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert call("refine", small, *VOTES, "-o", "link.csv", "--force").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("id,label")


def test_a_device_is_not_replaced(call: Any, small: Path) -> None:
    assert call("refine", small, *VOTES, "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_failing_report_leaves_no_table(
    call: Any, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stand_in(monkeypatch)
    report.render = lambda summary: 1 / 0  # type: ignore[attr-defined]
    before = sorted(os.listdir(tmp_path))
    done = call("refine", small, *VOTES, "-o", "out.csv", "--report", "report.html")
    assert done.code == 3
    assert sorted(os.listdir(tmp_path)) == before


def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A bc3e.report that remembers what it was asked."""
    module = ModuleType("bc3e.report")
    module.asked = []  # type: ignore[attr-defined]

    def summarize(
        model: Any,
        *,
        votes: Any = None,
        clusters: Any = None,
        ids: Any = None,
        truth: Any = None,
        drift: Any = None,
        context: Any = None,
    ) -> dict[str, Any]:
        module.asked.append(
            {
                "model": model,
                "votes": votes,
                "clusters": clusters,
                "ids": ids,
                "truth": truth,
                "drift": drift,
            }
        )  # type: ignore[attr-defined]
        return {"context": context, "objects": len(model.labels_)}

    module.summarize = summarize  # type: ignore[attr-defined]
    module.render = lambda summary: f"<html>{summary['objects']}</html>"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bc3e.report", module)
    return module


def test_report_of_refine(
    call: Any, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report: Any = stand_in(monkeypatch)
    done = call("refine", small, *VOTES, "--truth", "y", "--report", "r.html", "--report-json", "r.json")
    assert done.code == 0, done.err
    assert (tmp_path / "r.html").read_text() == "<html>6</html>"
    context = json.loads((tmp_path / "r.json").read_text())["context"]
    assert context["inputs"]["table"]["name"] == str(small)
    assert len(context["inputs"]["table"]["sha256"]) == 64
    assert context["command_line"][:2] == ["bc3e", "refine"]
    assert context["timings"]["fit"] > 0
    (asked,) = report.asked
    assert list(asked["ids"]) == ["o1", "o2", "o3", "o4", "o5", "o6"]
    assert list(asked["votes"]) == ["clf_a", "clf_b", "s"]
    refit = type(asked["model"])(random_state=0, classes=["cat", "dog"]).fit(
        asked["votes"], asked["clusters"]
    )
    assert refit.labels_.tolist() == asked["model"].labels_.tolist()


def test_report_of_adapt_and_drift(
    call: Any, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report: Any = stand_in(monkeypatch)
    wine = files("wine")
    tables = ("--train", str(wine.train), "--target", str(wine.target), "--label", "label", "--id", "id")
    for command in ("adapt", "drift"):
        done = call(
            command, *tables, "--truth", "label", "--report", f"{command}.html", "--clusterings", "3"
        )
        assert done.code == 0, done.err
        assert (tmp_path / f"{command}.html").exists()
    adapted = report.asked[0]
    assert [len(votes) for votes in adapted["votes"].values()] == [wine.n_target] * 3
    assert len(adapted["clusters"]) == 3
    assert adapted["drift"] is adapted["model"].drift_
    assert adapted["truth"][0] in wine.classes


def test_reports_are_refused_early_where_they_cannot_be_made(
    call: Any, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bc3e.report", None)
    done = call("refine", small, *VOTES, "--report", "r.html")
    assert done.code == 2
    assert "--report: reports cannot be made here" in done.err


def test_commands_run_outside_the_main_thread(call: Any, small: Path) -> None:
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(call("refine", small, *VOTES, "-o", "out.csv").code)
    )
    thread.start()
    thread.join()
    assert codes == [0]


def test_compare_and_validate_thresholds(call: Any, small: Path) -> None:
    options = ("--methods", "BC3E,SoftVote", "--truth", "y", "--bootstrap", "10")
    assert call("compare", small, *VOTES, *options, "--fail-on", "accuracy<2").code == 1
    assert call("validate", small, *VOTES, "--fail-on", "missing-votes>0").code == 0
    small.write_text(LABELS.replace("o1,cat", "o1,"))
    done = call("validate", small, *VOTES, "--fail-on", "missing-votes>0,notes")
    assert done.code == 1
    assert "note: column 'clf_a': 16.7% of the labels are missing" in done.out
