"""Tests of neighbours of faults on real brokers: triage names no cause with trouble for the well form, and names the
cause of the ill form, which differs in the deciding fact.
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
    """Check that triage names the expected causes and no trouble for the well form, and the expected cause for the ill
    form.
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
    """The stored results have both forms of each neighbour."""
    kept = {(*trial.faults, trial.version) for trial in trials(REAL_NEIGHBOUR_RESULTS)}
    for name, form, version in kept:
        assert form in (WELL, ILL)
        assert can_have(REAL_NEIGHBOURS[name], version)
        assert {(name, WELL, version), (name, ILL, version)} <= kept
    assert {version for *_, version in kept} <= set(RELEASES.values())
