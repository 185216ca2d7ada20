"""Tests of the statements `pause`, `resume`, `stop`, `restart` and `reset connector`, and of the JSON of their
edits.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language import given_files, statements
from console.language.errors import CommandError
from console.language.interpret import to_edits
from console.language.verbs import connector
from console.model import connect
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan.edit_json import edit_json, edit_of
from tests.language.said import edits, one, refuses
from tests.language.strategies import NAMES, read_back

FULL_NAMES = st.builds("{}/{}".format, NAMES.filter(lambda name: "/" not in name), NAMES)
NAMES_HERE = FULL_NAMES.map(statements.Name)
STEERING = (do.DeleteConnector, do.PauseConnector, do.StopConnector, do.ResumeConnector)
JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4), st.lists, max_leaves=3)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)
OFFSETS = st.lists(st.tuples(OBJECTS, st.none() | OBJECTS), min_size=1, max_size=3).map(tuple)
STATES = st.sampled_from(["", connect.PAUSED, connect.STOPPED])

written = st.one_of(
    *(st.builds(each, FULL_NAMES).map(statements.OneEdit) for each in STEERING),
    st.builds(do.RestartConnector, FULL_NAMES, tasks=st.booleans()).map(statements.OneEdit),
    st.builds(do.RestartConnector, FULL_NAMES, st.just(True), st.just(True)).map(statements.OneEdit),
    st.builds(do.RestartConnector, FULL_NAMES, task=st.integers(0, 2**31 - 1)).map(statements.OneEdit),
    st.builds(connector.ResetConnector, NAMES_HERE, NAMES),
    st.builds(connector.ResetConnector, NAMES_HERE, st.just(""), st.none() | OFFSETS),
)
made = st.one_of(
    st.builds(do.CreateConnector, NAMES, st.dictionaries(NAMES, st.text(max_size=9), max_size=3), STATES),
    st.builds(do.RestartConnector, NAMES, st.booleans(), st.booleans(), st.none() | st.integers(0, 99)),
    st.builds(do.ChangeConnectorOffsets, NAMES, st.none() | OFFSETS),
    *(st.builds(each, NAMES) for each in STEERING),
)


test_what_is_written_reads_back = read_back(written)


@given(made)
def test_an_edit_comes_back_from_its_json(edit: do.Edit) -> None:
    assert edit_of(edit_json(edit)) == edit


def test_what_is_understood() -> None:
    name = statements.Name("main/x")
    assert one("restart connector main/x") == statements.OneEdit(do.RestartConnector("main/x"))
    assert one("restart connector main/x task 2") == statements.OneEdit(do.RestartConnector("main/x", task=2))
    offsets = (({"table": "t"}, {"id": 7}), ({"table": "u"}, None))
    text = '[{"partition": {"table": "t"}, "offset": {"id": 7}}, {"partition": {"table": "u"}, "offset": null}]'
    assert one(f"reset connector main/x offsets to '{text}'") == connector.ResetConnector(name, offsets=offsets)
    wrapped = f'{{"offsets": {text}}}'
    assert one(f"reset connector main/x offsets to '{wrapped}'") == connector.ResetConnector(name, offsets=offsets)


test_what_is_not_understood = refuses(
    "pause main/x",
    "pause connector x",
    "stop topic main/x",
    "restart connector main/x all",
    "restart connector main/x task",
    "restart connector main/x task -1",
    "reset connector main/x",
    "reset connector main/x offsets",
    "reset connector main/x offsets to",
    "reset connector main/x offsets to earliest",
    "reset connector main/x offsets to '{}'",
    "reset connector main/x offsets to '[]'",
    """reset connector main/x offsets to '[{"partition": 1, "offset": null}]'""",
    """reset connector main/x offsets to '[{"partition": {}}]'""",
)


def test_what_is_staged() -> None:
    assert edits("restart connector main/x failed", Snapshot()) == (do.RestartConnector("main/x", True, True),)
    assert edits("stop connector main/x", Snapshot()) == (do.StopConnector("main/x"),)
    assert edits("reset connector main/x offsets to none", Snapshot()) == (do.ChangeConnectorOffsets("main/x", None),)


@pytest.mark.parametrize("state", [connect.RUNNING, connect.PAUSED, connect.STOPPED])
def test_offsets_stop_the_connector_before_unless_they_are_so(state: str) -> None:
    clusters = {"main": connect.ConnectCluster("main", connectors={"x": connect.Connector("x", "sink", state, "w")})}
    offsets = (({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 7}),)
    there = Snapshot(connect=clusters, connector_offsets={"main/x": offsets}, read_at={"connect": None})  # type: ignore[dict-item]
    found = edits("reset connector main/x offsets to none", there)
    stops = [] if state == connect.STOPPED else [do.StopConnector("main/x")]
    assert found == (*stops, do.ChangeConnectorOffsets("main/x", None))
    same = """[{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 7}}]"""
    assert len(edits(f"reset connector main/x offsets to '{same}'", there)) == 1


def test_offsets_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text('{"offsets": [{"partition": {"a": 1}, "offset": {"b": 2}}]}')
    statement = given_files.with_file(one(f"reset connector main/x offsets to file {file}"))
    assert to_edits(statement, Snapshot()) == (do.ChangeConnectorOffsets("main/x", (({"a": 1}, {"b": 2}),)),)
    file.write_text("t,0,7\n")
    with pytest.raises(CommandError):
        given_files.with_file(statement)
