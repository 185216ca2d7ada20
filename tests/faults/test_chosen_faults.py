"""Tests of a few faults on three real brokers: the verdict names each fault with its subject, and nothing else."""

import pytest

from benchmarks.faults.catalogue import CHOSEN, FAULTS
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.score import judge

pytestmark = [pytest.mark.broker, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("lab", ["4.3"], indirect=True)
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.takes(20)
async def test_it_is_named(lab: Laboratory, name: str) -> None:
    found = judge(await lab.trial(FAULTS[name]))
    assert not found.missed, found.trial
    assert not found.alarms, found.alarms
