"""Tests of the catalogue of neighbours of faults: healthy states that differ from a fault in one fact."""

import pytest

from benchmarks.faults.catalogue import FAULTS
from benchmarks.faults.kept import NEIGHBOUR_RESULTS, trials
from benchmarks.faults.neighbours import ILL, WELL, Neighbour, tried, troubles
from benchmarks.faults.neighbours.catalogue import NEIGHBOURS
from console.triage.diagnosis import RULES


@pytest.mark.parametrize("name", NEIGHBOURS)
async def test_what_is_well_has_no_trouble(name: str) -> None:
    neighbour: Neighbour = NEIGHBOURS[name]
    trial = await tried(neighbour, ill=False)
    assert not troubles(trial), trial.told
    assert neighbour.told <= {told.cause for told in trial.told}, trial.told


@pytest.mark.parametrize("name", NEIGHBOURS)
async def test_with_the_fact_that_decides_it_is_named(name: str) -> None:
    neighbour: Neighbour = NEIGHBOURS[name]
    trial = await tried(neighbour, ill=True)
    assert any(neighbour.ill.fits(told.cause, told.subject) for told in trial.told), trial.told


def test_each_is_of_a_known_fault() -> None:
    """The fault or the cause that a neighbour names is in the catalogue, and no two neighbours of a fault differ from
    it in the same fact.
    """
    causes = {name.cause for fault in FAULTS.values() for name in fault.named} | {rule.name for rule in RULES}
    for each in NEIGHBOURS.values():
        assert each.fault in FAULTS or each.fault in causes, each.name
    facts = [(each.fault, each.decides) for each in NEIGHBOURS.values()]
    assert len(facts) == len(set(facts))


def test_the_kept_results_are_of_these() -> None:
    kept = {(trial.faults[0], trial.version) for trial in trials(NEIGHBOUR_RESULTS)}
    assert kept == {(name, form) for name in NEIGHBOURS for form in (WELL, ILL)}, (
        "python -m benchmarks.faults.neighbours.again"
    )
