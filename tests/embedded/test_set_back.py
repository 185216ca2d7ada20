"""A change that another client takes back is said to be: right after the apply, and when it is made again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.model.snapshot import Snapshot
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage
from console.plan.staged import Staged
from console.session import applying
from console.session.session import Work
from tests.support import worlds
from tests.support.model_cluster import ModelCluster
from tests.support.worlds import Kac

KEY, OURS, THEIRS = "retention.ms", "222222222", "111111111"


def _theirs(value: str, cluster: EmbeddedCluster) -> None:
    cluster.state.alter_config(topic_resource("t"), {KEY: value})


cluster = worlds.cluster(ClusterSpec(brokers=1), lambda each: add_topic(each.state, "t", 1, 1))


kac = worlds.commands()


def test_what_was_set_back_before_is_counted(cluster: ThreadedCluster, kac: Kac) -> None:
    apply = partial(kac, "run", "-e", f"set topic t {KEY}={OURS}; apply --yes")
    told = []
    for _ in range(4):
        cluster.call(partial(_theirs, THEIRS))
        done = apply()
        assert done.code == 0, done
        told.append(done.complaints)
    assert "set back" not in told[0]
    assert f"topic t {KEY}: change 1 made the same, and it was set back since" in told[1]
    assert f"topic t {KEY}: changes 1, 2, 3 made the same, and it was set back 3 times" in told[3]


@pytest.mark.parametrize(
    "between",
    [
        f"set topic t {KEY}=555555555; apply --yes",
        "revert 1; apply --yes",
        "delete topic t; apply --yes --accept topic-deleted=t",
    ],
)
def test_what_we_changed_ourselves_was_not_set_back(cluster: ThreadedCluster, kac: Kac, between: str) -> None:
    assert kac("run", "-e", f"set topic t {KEY}={OURS}; apply --yes").code == 0
    assert kac("run", "-e", between).code == 0
    cluster.call(lambda each: "t" in each.state.topics or add_topic(each.state, "t", 1, 1))
    cluster.call(partial(_theirs, THEIRS))
    done = kac("run", "-e", f"set topic t {KEY}={OURS}; apply --yes")
    assert done.code == 0, done
    assert "set back" not in done.complaints


@pytest.mark.parametrize("shown", [(THEIRS, OURS), (THEIRS, THEIRS)])
def test_a_value_that_is_as_before_right_after_is_looked_at_again(
    shown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(applying, "SPREADS_WITHIN", 0.1)
    known = {
        value: ModelCluster(topics={"t": 1}, configs={topic_resource("t"): {KEY: value}}).describe()
        for value in (OURS, THEIRS)
    }
    (staged,) = stage(EMPTY, [SetConfig(topic_resource("t"), KEY, OURS)], known[THEIRS]).added

    async def looked(_again: Iterable[Staged]) -> Snapshot:
        return known[shown[-1]]

    found = asyncio.run(applying._set_back(Work(), lambda *_: None, [staged], looked, known[shown[0]]))
    assert [each.staged for each in found] == ([staged] if shown[-1] == THEIRS else [])
