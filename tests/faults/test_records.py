"""Tests of the flight records of the laboratory: a replay names each fault from the recorded answers alone."""

import pytest

from benchmarks.faults.kept import RECORDED, RECORDS, judged_again, record_name, trials
from benchmarks.faults.score import judge
from benchmarks.faults.trial import Trial

KEPT = {record_name(trial.version, trial.faults): trial for trial in trials(RECORDED)}
FILES = sorted(RECORDS.glob("*.kacrec"))
MOST_EACH, MOST_IN_ALL = 100 << 10, 3 << 20


def test_records_are_small_and_known() -> None:
    sizes = {file.name: file.stat().st_size for file in FILES}
    assert sizes
    assert sizes.keys() == KEPT.keys()
    assert max(sizes.values()) <= MOST_EACH
    assert sum(sizes.values()) <= MOST_IN_ALL


@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_what_was_named_is_named_of_the_record(name: str) -> None:
    trial: Trial = KEPT[name]
    live, again = judge(trial), judge(judged_again(trial, RECORDS / name))
    assert live.named.keys() <= again.named.keys(), again.trial.told
    assert not again.alarms, again.alarms
