"""Tests of records in a request log's topic that were deleted before kac read them: kac reports how many it missed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import main as cli
from console.collecting.doctor import checks
from console.lake import streams
from console.lake.lake import Lake
from console.lake.schema import REQUEST
from tests.support import delta_lake
from tests.support.delta_lake import arrow_rows


@pytest.mark.parametrize(
    ("start", "end", "first", "found"),
    [
        ({"0": 10}, {"0": 30}, {"0": 0}, []),
        ({"0": 10}, {"0": 30}, {"0": 10}, []),
        ({"0": 10}, {"0": 30}, {"0": 25}, [streams.Skipped(0, 10, 15, streams.DELETED)]),
        ({"0": 10}, {"0": 30}, {"0": 30}, [streams.Skipped(0, 10, 20, streams.DELETED)]),
        # More is deleted than this batch spans: the next batch reports the rest.
        ({"0": 10}, {"0": 30}, {"0": 99}, [streams.Skipped(0, 10, 20, streams.DELETED)]),
        ({"0": 1}, {"0": 1, "1": 8}, {"0": 1, "1": 5}, [streams.Skipped(1, 0, 5, streams.DELETED)]),
        ({"0": 30}, {"0": 10}, {"0": 2}, [streams.Skipped(0, 2, 8, streams.MADE_AGAIN)]),
        ({"0": 30}, {"0": 10}, {}, []),
        (
            {"10": 1, "9": 1},
            {"10": 3, "9": 3},
            {"10": 2, "9": 3},
            [streams.Skipped(9, 1, 2, streams.DELETED), streams.Skipped(10, 1, 1, streams.DELETED)],
        ),
    ],
)
def test_what_a_batch_does_not_have(
    start: dict[str, int], end: dict[str, int], first: dict[str, int], found: list[streams.Skipped]
) -> None:
    assert streams.skipped(start, end, first) == found


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_what_batches_do_not_have_is_told_once_each(steps: list[tuple[int, int]]) -> None:
    """After any sequence of writes and deletions, each written record was either read or reported as missed, exactly
    once.
    """
    at = end = first = read = told = 0
    for written, deleted in steps:
        end += written
        first = min(end, first + deleted)
        told += sum(each.offsets for each in streams.skipped({"0": at}, {"0": end}, {"0": first}))
        read += end - max(at, first)
        at = end
    assert read + told == end


def test_a_topic_that_was_created_again_may_have_had_more_than_was_read() -> None:
    assert streams.gone_of({"10": 7, "9": 0}) == [
        streams.Skipped(9, 0, 0, streams.MADE_AGAIN),
        streams.Skipped(10, 7, 0, streams.MADE_AGAIN),
    ]
    assert streams.gone_of({"0": 7})[0].reason == "0 or more offsets are lost: the topic was deleted and created again"


KNOWN = st.sampled_from(["", "a", "b"])


@given(KNOWN, KNOWN, KNOWN, KNOWN)
def test_a_topic_is_another_only_where_both_ids_are_known(cluster: str, topic: str, its: str, its_topic: str) -> None:
    one, other = streams.Identity(cluster, topic), streams.Identity(its, its_topic)
    assert one.is_of_another(other) == ({topic, its_topic} == {"a", "b"})
    assert one.is_on_another_cluster(other) == ({cluster, its} == {"a", "b"})


def test_it_is_shown_by_status_and_the_doctor(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    lost = streams.Skipped(3, 1_000, 250, streams.DELETED)
    rows = [
        {"cluster_id": "c", "quarantined": {"file": "lines-3", "byte_pos": lost.at, "reason": lost.reason}},
        {"cluster_id": "c", "quarantined": {"file": "lines-3", "byte_pos": 7, "reason": "no such field"}},
    ]
    delta_lake.put(lake, REQUEST, arrow_rows(REQUEST, rows))
    assert cli.run(["lake", "status", "--lake", lake.where]) == 0
    assert "lines-3  1,000  250 offsets are lost: they were deleted before they were read" in capsys.readouterr().out
    assert cli.run(["lake", "status", "--lake", lake.where, "--output", "json"]) == 0
    (gone,) = json.loads(capsys.readouterr().out)["gone"]
    assert gone == {"cluster_id": "c", "file": "lines-3", "at": 1_000, "what": lost.reason}
    (check,) = (each for each in checks({"KAC_SPARK_JARS": "/nowhere"}, lake.where) if each.name == "request logs")
    assert "lines-3 of c (1 time)" in check.found
