"""Columns are chosen by the same rules wherever they are chosen."""

from __future__ import annotations

import pytest

from bc3e import InputError, InputTypeError
from bc3e.column_choice import Header, Voter, chosen_voters

HEADER = Header(["id", "a", "b", "b:cat", "b:dog", "b:a:b", "k*", "k1", "c[0]"], "labels.csv")


def test_names_before_globs() -> None:
    assert HEADER.matching("votes", "k*") == ["k*"]
    assert HEADER.matching("votes", "c[0]") == ["c[0]"]
    assert HEADER.matching("votes", ["k?", "?", "a"]) == ["k*", "k1", "a", "b"]


def test_what_is_named_otherwise_is_found_by_its_name_only() -> None:
    assert HEADER.matching("votes", "?", skip=["a"]) == ["b"]
    assert HEADER.matching("votes", ["?", "a"], skip=["a"]) == ["b", "a"]


def test_a_group_is_one_voter_and_splits_at_the_first_colon() -> None:
    (voter,) = HEADER.voters("votes", "b:*")
    assert voter == Voter("b", ("b:cat", "b:dog", "b:a:b"), ("cat", "dog", "a:b"))


def test_votes_or_clusters_may_be_left_out() -> None:
    assert chosen_voters(HEADER, None, ["k1"]) == ([], [Voter("k1", ("k1",))])
    assert chosen_voters(HEADER, "a", ()) == ([Voter("a", ("a",))], [])


@pytest.mark.parametrize(
    ("votes", "clusters", "words"),
    [
        (
            ["aa"],
            [],
            "votes: no column of labels.csv matches 'aa'. Did you mean 'a'? The columns are 'id'",
        ),
        (["a"], ["z*"], "clusters: no column of labels.csv matches 'z*'. The columns are 'id', 'a'"),
        (["a"], ["z*"], "'k1' and 1 more."),
        (["b*"], [], "votes: column 'b' has the name of the group b:*. Choose one of them"),
        (
            ["b:cat"],
            [],
            "votes: 'b:cat' is the only column of the group b:*. Name a column for each class",
        ),
        (["b:*"], ["b:dog", "b:cat"], "clusters: column 'b:cat' is also in votes. Write names or globs"),
        ([], None, "votes: neither votes nor clusters. Name at least one column."),
        ([""], [], "votes: no column of labels.csv matches ''."),
    ],
)
def test_refusals(votes: list[str], clusters: list[str] | None, words: str) -> None:
    with pytest.raises(InputError) as caught:
        chosen_voters(HEADER, votes, clusters)
    assert words in str(caught.value)


def test_names_are_text() -> None:
    with pytest.raises(
        InputTypeError, match=r"clusters: 3 is not text\. Pass names or globs of columns"
    ):
        HEADER.matching("clusters", [3])  # type: ignore[list-item]
