"""Tests of every fault alone on 4.3 and 3.9, and of forty pairs of faults, with triage's precision and recall over all
of them. They take more than an hour.
"""

import pytest

from benchmarks.faults.catalogue import FAULTS, PAIRS, pairs
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.score import judge, score

pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.asyncio(loop_scope="session")]


async def test_singles(lab: Laboratory) -> None:
    found = score([judge(await lab.trial(fault)) for fault in FAULTS.values()])
    assert found.precision >= 0.95, found
    assert found.recall >= 0.9, found
    assert found.median <= 15, found


async def test_pairs(lab: Laboratory) -> None:
    chosen = pairs()
    assert len(chosen) == PAIRS
    found = score([judge(await lab.trial(*pair)) for pair in chosen])
    assert found.precision >= 0.95, found
    assert found.recall >= 0.9, found
