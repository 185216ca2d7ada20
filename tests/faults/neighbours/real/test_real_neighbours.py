"""Tests of neighbours of faults on real brokers. A neighbour has two forms that differ in one fact: the healthy one,
for which triage names no trouble, and the faulty one, for which it names the cause.
"""

import pytest

from benchmarks.faults.kept import REAL_NEIGHBOUR_RESULTS, trials
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.neighbours import ILL, WELL, troubles
from benchmarks.faults.neighbours.catalogue import NEIGHBOURS
from benchmarks.faults.neighbours.real import can_have, tried_on
from benchmarks.faults.neighbours.real.catalogue import NOT_MADE, REAL_NEIGHBOURS
from tests.support.kafka_jars import RELEASES


async def is_told_apart(lab: Laboratory, name: str) -> None:
    """Check both forms of a neighbour. For the healthy form, triage names no trouble, and names the causes of
    severity `info` that the catalogue lists. For the faulty form, triage names the expected cause.
    """
    neighbour = REAL_NEIGHBOURS[name]
    well, ill = await tried_on(lab, neighbour)
    assert not troubles(well), well.told
    assert NEIGHBOURS[name].told <= {told.cause for told in well.told}, well.told
    assert any(neighbour.ill.fits(told.cause, told.subject) for told in ill.told), ill.told


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("lab", ["4.4", "4.3", "3.9"], indirect=True)
@pytest.mark.parametrize("name", REAL_NEIGHBOURS)
async def test_all_of_them(lab: Laboratory, name: str) -> None:
    if not can_have(REAL_NEIGHBOURS[name], lab.cluster.version):
        pytest.skip("no broker of this release can be so")
    await is_told_apart(lab, name)


def test_each_neighbour_is_made_or_it_is_said_why_not() -> None:
    assert not REAL_NEIGHBOURS.keys() & NOT_MADE.keys()
    assert REAL_NEIGHBOURS.keys() | NOT_MADE.keys() == NEIGHBOURS.keys()


def test_the_kept_results_are_of_these() -> None:
    """If a neighbour has stored results for a version, it can be made on this version, and both of its forms have
    results.
    """
    kept = {(*trial.faults, trial.version) for trial in trials(REAL_NEIGHBOUR_RESULTS)}
    for name, form, version in kept:
        assert form in (WELL, ILL)
        assert can_have(REAL_NEIGHBOURS[name], version)
        assert {(name, WELL, version), (name, ILL, version)} <= kept
    assert {version for *_, version in kept} <= set(RELEASES.values())
