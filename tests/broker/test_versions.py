"""What works with which release, tried again: as docs/versions.md keeps it, and the screen opens on each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import EACH, REAL, running
from tests.support.versions import RELEASES, cluster_of, kept, tried_on
from tests.tui.console_app import Driven


@pytest.fixture(
    params=[
        *EACH,
        *(pytest.param(("own", each), id=each, marks=pytest.mark.long) for each in RELEASES if each not in REAL),
    ]
)
def release(request: pytest.FixtureRequest) -> str:
    """Each of the table; those without a shared cluster at length only."""
    _, name = request.param
    return str(name)


@pytest.fixture
def kafka(release: str, request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A cluster of the release."""
    if release in REAL:
        yield request.getfixturevalue(REAL[release])
    else:
        yield from running(lambda: cluster_of(release))


async def test_what_is_kept_is_so(release: str, kafka: KafkaCluster) -> None:
    assert await tried_on(kafka) == kept()[release], f"run: python -m tests.support.versions {release}"


async def test_the_screen_walks_through_its_panes(release: str, kafka: KafkaCluster) -> None:
    settings = ConnectionSettings(kafka.addresses)
    with AdminClient(settings) as client:
        app = Console(Session(client, Context("versions", "test", settings)), ConsoleSettings(start_pane="brokers"))
        async with app.run_test(size=(100, 30)) as pilot:
            walk = Driven(app, pilot, None)  # type: ignore[arg-type]  # only what stays within the app is used
            await walk.shows(f"kafka {release}")
            for key, part in (
                ("2", "Part   RF"),
                ("3", "broker          <default>"),
                ("4", "Entity"),
                ("5", "Principal"),
                ("6", "Stuck"),
                (".", "Sev"),
            ):
                await walk.press(key)
                await walk.shows(part)
