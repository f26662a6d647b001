"""Bad invocations: files to make, the command line, and what its one line must say."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from tests.cli.conftest import LABELS

VOTES = ("--votes", "clf_*", "--clusters", "clu_*")
SOFT = ("--votes", "s:*", "--clusters", "clu_*")
REFINE = ("refine", "labels.csv", *VOTES, "--id", "id", "-o", "out.csv")
GRID = "x,z,y\n" + "".join(f"{i % 7},{i % 5}.5,{'ab'[i % 2]}\n" for i in range(40))
ADAPT = ("adapt", "--train", "train.csv", "--target", "target.csv", "--label", "y", "-o", "out.csv")


@dataclass(frozen=True)
class Case:
    """One bad invocation.

    Attributes
    ----------
    name : str
    arguments : command line
    says : parts of the line, in order: the cause, then the remedy
    files : content by file name; text, bytes, or a function that makes the file
    """

    name: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    files: dict[str, str | bytes | Callable[[Path], object]] = field(default_factory=dict)


def edited(old: str, new: str) -> str:
    assert old in LABELS
    return LABELS.replace(old, new, 1)


def labels(content: str | bytes) -> dict[str, str | bytes | Callable[[Path], object]]:
    return {"labels.csv": content}


def cut_parquet(path: Path) -> None:
    pq.write_table(pc.read_csv(pa.BufferReader(LABELS.encode())), path)
    path.write_bytes(path.read_bytes()[:-50])


FILE_CASES = [
    Case("missing file", ("refine", "nowhere.csv", *VOTES), ("nowhere.csv: no such file or directory", "Check the name")),
    Case("a directory", ("refine", ".", *VOTES), (".: this is a directory", "Name a file")),
    Case("empty CSV", REFINE, ("labels.csv: the file is empty", "Pass a table"), labels("")),
    Case("blank CSV", REFINE, ("labels.csv: there is no header", "Pass a table"), labels("\n\n\r\n")),
    Case("header only", REFINE, ("labels.csv: there is a header but no row", "at least one object"), labels(LABELS.split("\n")[0])),
    Case("latin-1 cell", REFINE, ("labels.csv, line 3: byte 0xe9 is not utf-8 text", "--encoding latin-1"), labels(edited("o2,cat", "o2,caté").encode("latin-1"))),
    Case("latin-1 header", REFINE, ("labels.csv, line 1: byte 0xe9 is not utf-8 text", "--encoding latin-1"), labels(edited("clf_a", "clf_é").encode("latin-1"))),
    Case("UTF-16", REFINE, ("labels.csv: the text is UTF-16", "--encoding utf-16"), labels(LABELS.encode("utf-16"))),
    Case("unknown encoding", (*REFINE, "--encoding", "klingon"), ("--encoding: 'klingon' is not known", "utf-8"), labels(LABELS)),
    Case("binary as CSV", REFINE, ("labels.csv: not a text table", "--format"), labels(b"id,a\n\0\1\2\3")),
    Case("short row", REFINE, ("labels.csv, row 3: 2 cells, but the header has 9", "Complete the row"), labels(edited("o3,dog,dog,0.2,0.8,1,6,dog,2", "o3,dog"))),
    Case("long rows", REFINE, ("labels.csv, row 2: 11 cells, but the header has 9; also row 4", "quote cells"), labels(LABELS.replace("o2,cat", "o2,a,b,cat").replace("o4,dog", "o4,a,b,dog"))),
    Case("ragged with CRLF and BOM", REFINE, ("labels.csv, row 1: 10 cells", "Complete the row"), labels(("\ufeff" + edited("o1,", "o1,,")).replace("\n", "\r\n"))),
    Case("quote left open", REFINE, ("labels.csv, row 6: a quotation mark is opened and not closed", "Close it"), labels(edited("5,cat,1\n", '5,cat,1\n').rstrip("\n")[:-1] + '"1\nlost,row\n')),
    Case("quoted newlines, quote left open early", REFINE, ("labels.csv, row 2: a quotation mark is opened and not closed", "Close it"), labels(edited("o2,cat", 'o2,"cat'))),
    Case("duplicate ids", REFINE, ("labels.csv, column 'id', row 5: the same id as in row 2 (1 repeated in all)", "Make ids unique"), labels(edited("o5", "o2"))),
    Case("missing id", REFINE, ("labels.csv, column 'id', row 4: the id is missing (1 in all)", "Fill it in"), labels(edited("o4", ""))),
    Case("two columns of one name", REFINE, ("labels.csv: two columns are called 'clf_a'", "its own name"), labels(edited("clf_b", "clf_a"))),
    Case("CSV called parquet", ("refine", "labels.parquet", *VOTES), ("labels.parquet: not a Parquet file, or damaged", "--format"), {"labels.parquet": LABELS}),
    Case("parquet cut off", ("refine", "labels.parquet", *VOTES), ("labels.parquet: not a Parquet file, or damaged", "Write it again"), {"labels.parquet": cut_parquet}),
    Case("text called arrow", ("refine", "labels.arrow", *VOTES), ("labels.arrow: not an Arrow file, or damaged", "--format"), {"labels.arrow": LABELS}),
    Case("gzip cut off", ("refine", "labels.csv.gz", *VOTES), ("labels.csv.gz: the gzip file is damaged or cut off", "Copy it again"), {"labels.csv.gz": gzip.compress(LABELS.encode())[:-20]}),
    Case("JSON list", ("refine", "labels.json", *VOTES), ("labels.json: a JSON list, not JSON lines", "one object per line"), {"labels.json": '[{"id": 1}]'}),
    Case("broken JSON line", ("refine", "labels.jsonl", *VOTES), ("labels.jsonl, row 2: ", "Write one object per line"), {"labels.jsonl": '{"id": 1}\n{"id"\n'}),
    Case("JSON of two kinds", ("refine", "labels.jsonl", *VOTES), ("labels.jsonl, row 2: column (id) changed from number to string", "one type in a column"), {"labels.jsonl": '{"id": 1}\n{"id": "a"}\n'}),
    Case("unknown format", ("refine", "labels.csv", *VOTES, "--format", "xlsx"), ("--format: 'xlsx' is not a format", "csv, tsv, parquet"), labels(LABELS)),
    Case("a delimiter of two characters", ("refine", "labels.csv", *VOTES, "--delimiter", ";;"), ("--delimiter: ';;' is not one plain character", "such as ';'"), labels(LABELS)),
]  # fmt: skip

COLUMN_CASES = [
    Case("wrong glob", ("refine", "labels.csv", "--votes", "clg_*", "--clusters", "clu_*"), ("--votes: no column of labels.csv matches 'clg_*'", "The columns are 'id', 'clf_a'"), labels(LABELS)),
    Case("misspelt column", ("refine", "labels.csv", "--votes", "clf_a,clf_bb", "--clusters", "clu_*"), ("--votes: no column of labels.csv matches 'clf_bb'", "Did you mean 'clf_b'?"), labels(LABELS)),
    Case("no such id", ("refine", "labels.csv", *VOTES, "--id", "ID"), ("--id: no column of labels.csv matches 'ID'", "The columns are"), labels(LABELS)),
    Case("empty selection", ("refine", "labels.csv", "--votes", ",", "--clusters", "clu_*"), ("--votes: no column is named", "Name some. The columns are 'id'"), labels(LABELS)),
    Case("a column for both", ("refine", "labels.csv", "--votes", "c*", "--clusters", "clu_*"), ("--clusters: column 'clu_1' is also in --votes", "globs that do not meet"), labels(LABELS)),
    Case("truth among the votes", ("refine", "labels.csv", "--votes", "clf_a,clf_b", "--clusters", "clu_*", "--truth", "clf_a"), ("--truth: column 'clf_a' is also in --votes", "A vote is not the truth"), labels(LABELS)),
    Case("text where numbers are needed", ("refine", "labels.csv", *SOFT, "-o", "out.csv"), ("labels.csv, column 's:cat', row 3: 'often' is not a number", "leave the cell empty"), labels(edited("0.2,0.8", "often,0.8"))),
    Case("decimal comma", ("refine", "labels.csv", *SOFT, "-o", "out.csv"), ("labels.csv, column 's:cat', row 1: '0,9' is not a number (6 such cells)", "Add --decimal ','"), labels(LABELS.replace(",", ";").replace("0.", "0,"))),
    Case("probabilities that do not sum to 1", ("refine", "labels.csv", *SOFT, "-o", "out.csv"), ("--votes, column 's', row 2: probabilities [0.6, 0.7] that do not sum to 1", "Divide each row by its sum"), labels(edited("0.6,0.4", "0.6,0.7"))),
    Case("negative probability", ("refine", "labels.csv", *SOFT, "-o", "out.csv"), ("--votes, column 's', row 1: a negative probability", "from 0 to 1"), labels(edited("0.9,0.1", "1.1,-0.1"))),
    Case("half a row of probabilities", ("refine", "labels.csv", *SOFT, "-o", "out.csv"), ("--votes, column 's', row 1: probabilities that are NaN in part", "leave all its cells empty"), labels(edited("0.9,0.1", "0.9,"))),
    Case("probabilities without a colon", ("refine", "labels.csv", "--votes", "p_*", "--clusters", "clu_*"), ("labels.csv, column 'p_cat', row 1: 0.9 is not a whole number, so no label", "Name columns of probabilities p_cat:CLASS"), labels(LABELS.replace("s:", "p_"))),
    Case("a group without a class", ("refine", "labels.csv", "--votes", "s:*,t:*", "--clusters", "clu_*"), ("labels.csv, group t:*: no column for the class 'cat'", "Add t:cat"), labels(LABELS.replace("y,w", "t:dog,t:emu").replace(",cat,1\n", ",0.5,0.5\n").replace("6,dog,", "6,0,"))),
    Case("a group of one", ("refine", "labels.csv", "--votes", "s:cat", "--clusters", "clu_*"), ("--votes: 's:cat' is the only column of the group s:*", "a column for each class"), labels(LABELS)),
    Case("vote for an unknown class", ("refine", "labels.csv", "--votes", "clf_*,s:*", "--clusters", "clu_*"), ("labels.csv, column 'clf_a', row 2: 'emu' is not one of the 2 classes", "Add a column of probabilities"), labels(edited("o2,cat", "o2,emu"))),
    Case("class that is not listed", ("refine", "labels.csv", *VOTES, "--classes", "cat"), ("labels.csv, column 'clf_a', row 3: 'dog' is not one of the 1 classes", "Add it to --classes"), labels(LABELS)),
    Case("negative weight", ("refine", "labels.csv", *VOTES, "--weight", "w"), ("--weight, row 3: weight -2.0 is negative", "weights from 0 up"), labels(edited("dog,2", "dog,-2"))),
    Case("truth of another kind", ("refine", "labels.csv", "--votes", "clu_1", "--clusters", "clu_2", "--truth", "y"), ("labels.csv, column 'y': 'cat' is text, but the votes are whole numbers", "in the same way"), labels(LABELS)),
    Case("every vote missing", ("refine", "labels.csv", "--votes", "clf_a", "--clusters", "clu_*"), ("--votes: every vote is missing", "--classes"), labels(LABELS.replace(",cat,", ",NA,").replace(",dog,", ",,"))),
]  # fmt: skip

USAGE_CASES = [
    Case("unknown option", ("refine", "labels.csv", "--vots", "a"), ("No such option: --vots", "See 'bc3e refine --help'"), labels(LABELS)),
    Case("missing option", ("refine", "labels.csv", "--votes", "a"), ("Missing option '--clusters'", "See 'bc3e refine --help'"), labels(LABELS)),
    Case("columns without commas", ("refine", "labels.csv", "--votes", "clf_a", "clf_b", "--clusters", "clu_*"), ("Got unexpected extra argument(s) (clf_b)", "Separate columns by commas, and quote globs"), labels(LABELS)),
    Case("unknown command", ("refin", "labels.csv"), ("No such command 'refin'", "Did you mean 'refine'? See 'bc3e --help'"), labels(LABELS)),
    Case("seed that is text", (*REFINE, "--seed", "lucky"), ("Invalid value for '--seed'", "See 'bc3e refine --help'"), labels(LABELS)),
    Case("seed out of range", (*REFINE, "--seed", "-1"), ("--seed: -1 is out of range", "from 0"), labels(LABELS)),
    Case("delta2 that is text", (*REFINE, "--delta2", "big"), ("--delta2: 'big' is neither a number nor learn", "Pass one of them"), labels(LABELS)),
    Case("delta2 below zero", (*REFINE, "--delta2", "-1"), ("--delta2: -1.0", "positive numbers"), labels(LABELS)),
    Case("too many evidence weights", (*REFINE, "--evidence-weight", "1,2,3"), ("--evidence-weight: 3 weights for 2 clusterings", "one weight per clustering"), labels(LABELS)),
    Case("unknown start", (*REFINE, "--init", "luck"), ("--init: 'luck'", "votes, diffusion, random"), labels(LABELS)),
    Case("unknown threshold", (*REFINE, "--fail-on", "drift"), ("--fail-on: 'drift' is not known here", "changed<NUMBER"), labels(LABELS)),
    Case("threshold without truth", (*REFINE, "--fail-on", "accuracy<0.9"), ("--fail-on: 'accuracy<0.9' is not known here", "Use one of"), labels(LABELS)),
    Case("threshold without a number", (*REFINE, "--fail-on", "changed"), ("--fail-on: 'changed' cannot be checked", "Use one of"), labels(LABELS)),
    Case("unknown method", ("compare", "labels.csv", *VOTES, "--methods", "BC3E,Oracle"), ("--methods: 'Oracle' is not a method", "MajorityVote"), labels(LABELS)),
    Case("config that is not there", (*REFINE, "--config", "c.toml"), ("--config c.toml: no such file", "Check the name"), labels(LABELS)),
    Case("config that is no TOML", (*REFINE, "--config", "c.toml"), ("--config c.toml: not TOML", "--save-config"), labels(LABELS) | {"c.toml": "votes: clf_*"}),
    Case("config of another command", (*REFINE, "--config", "c.toml"), ("--config c.toml: there is no section [refine] (found: [adapt])", "below a line [refine]"), labels(LABELS) | {"c.toml": "[adapt]\nseed = 1\n"}),
    Case("config with an unknown option", (*REFINE, "--config", "c.toml"), ("--config c.toml: unknown option 'sead'", "Did you mean seed?"), labels(LABELS) | {"c.toml": "[refine]\nsead = 1\n"}),
    Case("config with a wrong value", (*REFINE, "--config", "c.toml"), ("--config c.toml, force: 'yes' does not fit", "true or false"), labels(LABELS) | {"c.toml": "[refine]\nforce = 'yes'\n"}),
]  # fmt: skip

OUTPUT_CASES = [
    Case("output exists", REFINE, ("--output out.csv: the file exists", "--force"), labels(LABELS) | {"out.csv": "precious"}),
    Case("output in no directory", (*REFINE[:-1], "no/where/out.csv"), ("--output no/where/out.csv: its directory does not exist", "mkdir -p"), labels(LABELS)),
    Case("output is a directory", (*REFINE[:-1], "."), ("--output .: this is a directory", "Add a file name"), labels(LABELS)),
    Case("output below a file", (*REFINE[:-1], "labels.csv/out.csv"), ("--output labels.csv/out.csv: ", "labels.csv is a file, not a directory", "another place"), labels(LABELS)),
    Case("output is the input", (*REFINE[:-1], "labels.csv", "--force"), ("--output labels.csv: this is the input", "another name"), labels(LABELS)),
    Case("output of no format", (*REFINE[:-1], "out.xlsx"), ("--output out.xlsx: the extension names no format", "--output-format"), labels(LABELS)),
    Case("two outputs of one name", (*REFINE, "--save-config", "out.csv"), ("--save-config out.csv: --output has the same name", "Give each its own"), labels(LABELS)),
    Case("two things on standard output", (*REFINE[:-1], "-", "--json"), ("--json: standard output is taken by -o -", "to a file"), labels(LABELS)),
    Case("column that is there already", ("refine", "labels.csv", *VOTES, "--id", "label", "-o", "out.csv"), ("--output: two columns would be called 'label'", "--prefix"), labels(edited("id,", "label,"))),
    Case("file name that is too long", (*REFINE[:-1], "x" * 300 + ".csv"), ("file name too long", "shorter name"), labels(LABELS)),
]  # fmt: skip

ADAPT_CASES = [
    Case("no such label", (*ADAPT[:6], "class", "-o", "out.csv"), ("--label: no column of train.csv matches 'class'", "The columns are 'x', 'z', 'y'"), {"train.csv": GRID, "target.csv": GRID}),
    Case("target lacks a feature", ADAPT, ("target.csv: no column 'z', which train.csv has", "--drop"), {"train.csv": GRID, "target.csv": GRID.replace("x,z,y", "x,q,y")}),
    Case("text in a column of numbers", ADAPT, ("target.csv, column 'x', row 1: 'many' is not a number", "Correct it"), {"train.csv": GRID, "target.csv": GRID.replace("0,0.5", "many,0.5", 1)}),
    Case("label that is a measurement", (*ADAPT[:6], "z", "-o", "out.csv"), ("train.csv, column 'z', row 1: 0.5 is not a whole number, so no label", "a column of classes"), {"train.csv": GRID, "target.csv": GRID}),
    Case("one class", ADAPT, ("train.csv, column 'y': fewer than two classes", "--label"), {"train.csv": GRID.replace(",b", ",a"), "target.csv": GRID}),
    Case("label that is an id", (*ADAPT[:6], "n", "-o", "out.csv"), ("train.csv, column 'n': 30 distinct labels in 30 rows", "--label"), {"train.csv": "n,x\n" + "".join(f"{i},{i}\n" for i in range(30)), "target.csv": GRID}),
    Case("target is the training table", (*ADAPT[:4], "train.csv", *ADAPT[5:]), ("--target: the same table as --train", "of today"), {"train.csv": GRID}),
    Case("prose beside numbers", ADAPT, ("train.csv, column 'z': text with 40 distinct values is neither number nor category", "--text 'z'"), {"train.csv": "x,z,y\n" + "".join(f"{i},word{i},{'ab'[i % 2]}\n" for i in range(40)), "target.csv": GRID}),
    Case("infinite feature", ADAPT, ("target.csv, column 'x', row 1: an infinite number", "Correct it"), {"train.csv": GRID, "target.csv": GRID.replace("0,0.5", "inf,0.5", 1)}),
    Case("level out of range", (*ADAPT, "--level", "5"), ("--level: 5.0", "from 0 to 1"), {"train.csv": GRID, "target.csv": GRID.replace("a", "b")}),
    Case("drift without a training table", ("drift", "--train", "gone.csv", "--target", "target.csv", "--label", "y"), ("gone.csv: no such file or directory", "Check the name"), {"target.csv": GRID}),
    Case("validate without a table", ("validate", *VOTES), ("Missing argument 'TABLE'", "See 'bc3e validate --help'")),
]  # fmt: skip

DUCKDB = (*REFINE, "--engine", "duckdb")
DUCKDB_CASES = [
    Case("unknown engine", (*REFINE, "--engine", "sqlite"), ("--engine: 'sqlite' is not an engine", "memory, duckdb"), labels(LABELS)),
    Case("limit of the other engine", (*REFINE, "--memory-limit", "1GB"), ("--memory-limit: only the duckdb engine heeds it", "--engine duckdb"), labels(LABELS)),
    Case("no amount of memory", (*DUCKDB, "--memory-limit", "lots"), ("--memory-limit: 'lots' is not an amount of memory", "3GB"), labels(LABELS)),
    Case("report of a large table", (*DUCKDB, "--report", "r.html"), ("--report: with the duckdb engine there is no report", "--engine memory"), labels(LABELS)),
    Case("truth of a large table", (*DUCKDB, "--truth", "y"), ("--truth: with the duckdb engine labels are not judged", "--engine memory"), labels(LABELS)),
    Case("large table on standard output", (*DUCKDB[:7], "id", "-o", "-", "--engine", "duckdb"), ("--engine duckdb: it reads and writes files", "-o refined.parquet"), labels(LABELS)),
    Case("probabilities for DuckDB", ("refine", "labels.csv", *SOFT, "-o", "out.csv", "--engine", "duckdb"), ("--votes: the columns s:* are probabilities, not labels", "--engine memory"), labels(LABELS)),
    Case("ragged rows for DuckDB", DUCKDB, ("TABLE: it cannot be read: line 4: it does not have the 9 cells of the header", "Check the file"), labels(edited("o3,dog,dog,0.2,0.8,1,6,dog,2", "o3,dog"))),
    Case("no such table for DuckDB", ("refine", "nowhere.parquet", *VOTES, "-o", "out.csv", "--engine", "duckdb"), ("TABLE: there is no file nowhere.parquet", "Check the name")),
    Case("no such column for DuckDB", (*DUCKDB[:3], "clf_z", *DUCKDB[4:]), ("--votes: no column of labels.csv matches 'clf_z'", "Did you mean 'clf_b'?"), labels(LABELS)),
    Case("fraction for DuckDB", ("refine", "labels.csv", "--votes", "clf_a", "--clusters", "w", "-o", "out.csv", "--engine", "duckdb"), ("--clusters, column 'w': 0.5 is not a whole number, so not a label", "--engine memory"), labels(LABELS.replace(",1\n", ",0.5\n"))),
    Case("unlisted class for DuckDB", (*DUCKDB, "--classes", "cat"), ("--votes, column 'clf_a': 'dog' is not one of the 1 classes", "Add it to --classes"), labels(LABELS)),
    Case("Arrow for DuckDB", (*DUCKDB[:-4], "-o", "out.arrow", "--engine", "duckdb"), ("--output-format: the duckdb engine has no arrow", "parquet, csv, tsv"), labels(LABELS)),
    Case("no temporary directory", (*DUCKDB, "--temp-directory", "no/where"), ("--temp-directory: no/where: No such file or directory", "write to"), labels(LABELS)),
]  # fmt: skip

REPRODUCE_CASES = [
    Case("reproduce nothing", ("reproduce",), ("Missing argument 'PART'", "See 'bc3e reproduce --help'")),
    Case("reproduce an unknown table", ("reproduce", "table9", "--out", "."), ("PART 'table9': no such experiment", "Use table2, table3, privacy or all")),
    Case("reproduce without a data folder", ("reproduce", "table2", "--data", "gone", "--out", "."), ("--data gone: no such folder", "Name the folder")),
    Case("reproduce into no folder", ("reproduce", "all", "--quick", "--out", "gone"), ("--out gone: no such folder", "Create it")),
    Case("reproduce with no process", ("reproduce", "all", "--quick", "--out", ".", "--jobs", "0"), ("--jobs: 0", "from 1, or -1")),
    Case("reproduce with a seed below zero", ("reproduce", "all", "--quick", "--out", ".", "--seed", "-1"), ("--seed: -1 is out of range", "from 0")),
    Case("reproduce over a page of somebody else", ("reproduce", "all", "--quick", "--out", "."), ("--out results-quick.md: the file exists", "--force"), {"results-quick.md": "# Mine"}),
]  # fmt: skip

CASES = [
    *FILE_CASES, *COLUMN_CASES, *USAGE_CASES, *OUTPUT_CASES, *ADAPT_CASES, *DUCKDB_CASES, *REPRODUCE_CASES
]  # fmt: skip
