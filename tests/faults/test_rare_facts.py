"""Tests of flight records with data that kac reads rarely, or only if something makes no progress: a replay names the
same causes as the live verdict.
"""

from pathlib import Path

import pytest

from benchmarks.faults.kept import judged_again, record_name, trials
from benchmarks.faults.score import judge
from benchmarks.faults.trial import Trial

FOLDER = Path(__file__).with_name("rare")
KEPT = {record_name(trial.version, trial.faults): trial for trial in trials(FOLDER / "results.json")}


def test_each_record_is_known() -> None:
    assert KEPT.keys() == {file.name for file in FOLDER.glob("*.kacrec")}
    assert {trial.version for trial in KEPT.values()} == {"3.9.1", "4.3.0"}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_named_is_named_of_the_record(name: str) -> None:
    trial: Trial = KEPT[name]
    live, again = judge(trial), judge(judged_again(trial, FOLDER / name))
    assert live.named
    assert live.named.keys() <= again.named.keys(), again.trial.told
    assert not again.alarms, again.alarms
    for named, found in live.named.items():
        assert found[-1].certainty == again.named[named][-1].certainty
