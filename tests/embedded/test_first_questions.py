"""What people ask a cluster first: who reads a topic, and which topics are the largest. A line each."""

from __future__ import annotations

import json

import pytest

from console.admin.client import AdminClient
from console.cli import main as cli
from console.cli.demo import context_of
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.incident import BEHIND, LOADED
from console.embedded.spec import ClusterSpec, clusters_of
from console.session.session import Session
from console.tui.app import Console
from screenshots.take import NO_TICKS, seen, shown
from tests.support import worlds

demo = worlds.cluster(clusters_of("incident", ClusterSpec())["incident"], scope="module")


def asked(demo: ThreadedCluster, statement: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.run(["run", "-b", demo.bootstrap, "--output", "json", "-e", statement]) == 0
    answer = json.loads(capsys.readouterr().out)
    return [row["name"] for row in answer[statement.split()[1]]]


def test_who_reads_a_topic(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(demo, f"list groups topic={LOADED}", capsys) == [BEHIND]
    others = asked(demo, f"list groups topic!={LOADED}", capsys)
    everyone = asked(demo, "list groups", capsys)
    assert sorted([*others, BEHIND]) == sorted(everyone)
    assert asked(demo, "list groups topic=nobody.reads.*", capsys) == []


def test_a_topic_is_compared_as_a_text(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-b", demo.bootstrap, "-e", "list groups topic>3"]) == 1
    assert "topic=GLOB and topic!=GLOB compare texts" in capsys.readouterr().err


def test_the_largest_topics_come_first(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    names = asked(demo, "list topics size>0", capsys)
    with AdminClient(context_of("incident", demo.bootstrap, 1).settings) as client:
        import asyncio

        session = Session(client, context_of("incident", demo.bootstrap, 1))

        async def on_disk() -> dict[str, int]:
            await session.read_cluster()
            await session.read_log_dirs()
            held: dict[str, int] = {}
            for dirs in session.snapshot.log_dirs.values():
                for each in dirs:
                    for name, size in each.sizes.items():
                        held[name] = held.get(name, 0) + size
            return held

        held = asyncio.run(on_disk())
    assert len(names) > 5
    assert [held[name] for name in names] == sorted((held[name] for name in names), reverse=True)
    assert {name for name, size in held.items() if size} == set(names)
    assert asked(demo, f"list topics size>={held[names[2]]}", capsys) == names[:3]


def test_without_a_filter_on_size_no_size_is_read(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-b", demo.bootstrap, "--output", "json", "-e", f"list topics {LOADED}"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["topics"]
    assert "size" not in row


async def test_both_are_a_key_away_in_a_narrow_terminal(demo: ThreadedCluster) -> None:
    context = context_of("incident", demo.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(Session(client, context), ConsoleSettings(refresh=NO_TICKS), contexts=Given([context]))
        async with app.run_test(size=(80, 24)) as pilot:
            for key in ("2", *"/", *LOADED, "enter"):
                await pilot.press({"/": "slash", ".": "full_stop"}.get(key, key))
            await seen(app, LOADED, pilot.pause)
            await pilot.press("c")
            await seen(app, f"list groups topic={LOADED}", pilot.pause)
            await seen(app, BEHIND, pilot.pause)
            await pilot.press("escape", "escape", "Z")
            await seen(app, "Size▾", pilot.pause)
            assert "GiB" in shown(app)


@pytest.mark.parametrize("given", ["password=x", "SCRAM-SHA-512=x", "scram=?", "scram.password=@/no/such/file"])
def test_a_password_is_no_quota_and_the_line_that_sets_one_is_named(
    demo: ThreadedCluster, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is asked for it, and no file of it is read, before it is refused."""
    assert cli.run(["run", "-b", demo.bootstrap, "-e", f"set user alice {given}"]) == 1
    said = capsys.readouterr().err
    assert "a password is set by: scram set alice SCRAM-SHA-512 password=?" in said
    assert "has no quota" in said
