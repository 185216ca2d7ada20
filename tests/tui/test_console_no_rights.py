"""Tests of the console of a user without rights: no pane shows a number or a statement about data that kac could not
read.
"""

from collections.abc import AsyncIterator

import pytest

from console.admin.client import AdminClient
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.session.session import Session
from console.tui.app import Console
from tests.support import worlds
from tests.tui.console_app import Driven

cluster = worlds.cluster(ClusterSpec(brokers=1, super_users=frozenset()), worlds.topic("orders", 1, 1))


@pytest.fixture
async def it(cluster: ThreadedCluster) -> AsyncIterator[Driven]:
    with AdminClient(worlds.settings(cluster)) as client:
        context = Context("none", "tests", client.settings)
        app = Console(Session(client, context), ConsoleSettings(refresh=0.2), contexts=Given([context]))
        async with app.run_test(size=(120, 40)) as pilot:
            yield Driven(app, pilot, client)


async def test_what_is_refused_is_not_said_to_be_none(it: Driven) -> None:
    await it.shows("brokers refuse this console")
    await it.press("1", shows="what all inherit")
    await it.until(lambda: any(line.lstrip(" ▸").startswith("1 ") and line.count("·") >= 5 for line in it.lines))
    await it.press("0", shows="quotas not read: CLUSTER_AUTHORIZATION_FAILED")
    assert "has a quota" not in it.text
    await it.press("9", shows="not shown: CLUSTER_AUTHORIZATION_FAILED")
    assert "reading…" not in it.text
    await it.command("transactions", shows="no open transaction is visible")
    await it.command("moves", shows="moves not read: CLUSTER_AUTHORIZATION_FAILED")
