"""Tests of the flight records of nights (troubles of other clusters, made again on real brokers) and of their twins
without the trouble: a replay scores at least the stored score.
"""

import pytest

from benchmarks.nights import kept
from benchmarks.nights.catalogue import nights
from benchmarks.nights.score import worse
from tests.support.kafka_jars import KAFKA_4_3

HALVES = {kept.record_of(each.slug, each.half, each.version).name: each for each in kept.halves()}
SCORES = {(each.slug, each.version): each for each in kept.scores()}
MOST_EACH, MOST_ON_AVERAGE = 400 << 10, 150 << 10

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HALVES, reason="no night was recorded: python -m benchmarks.nights"),
]


def test_records_are_small_and_known() -> None:
    sizes = {file.name: file.stat().st_size for file in kept.RECORDS.glob("*.kacrec")}
    assert sizes.keys() == HALVES.keys()
    assert SCORES.keys() == {(each.slug, each.version) for each in HALVES.values()}
    assert {each.slug for each in HALVES.values()} <= nights().keys()
    assert max(sizes.values()) <= MOST_EACH
    assert sum(sizes.values()) <= MOST_ON_AVERAGE * len(sizes)


# For a night that was also recorded on 4.3, a commit replays only that record.
@pytest.mark.parametrize(
    ("slug", "version"),
    [
        pytest.param(
            slug, version, marks=pytest.mark.long if version != KAFKA_4_3 and (slug, KAFKA_4_3) in SCORES else ()
        )
        for slug, version in SCORES
    ],
)
def test_it_scores_no_less_than_it_did(slug: str, version: str) -> None:
    mine = [kept.again(each) for each in HALVES.values() if (each.slug, each.version) == (slug, version)]
    (score,) = kept.judged(nights(), mine)
    assert not worse(score, SCORES[slug, version]), score
