"""Tests of a cluster with too many quotas to read them all: the tree reads the quotas of a user's clients when the user
is shown.
"""

import pytest

from console.model import snapshot as refresh
from console.model.quota import QuotaEntity
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ModelClient:
    """Provide a client of a model cluster, and lower the limit so that its number of quotas counts as too many."""
    monkeypatch.setattr(refresh, "MANY_QUOTAS", 2)
    made = cluster()
    made.quotas[QuotaEntity.of({"user": "bob"})] = {"request_percentage": 50.0}
    made.quotas[QuotaEntity.of({"user": "bob", "client-id": "loader"})] = {"request_percentage": 20.0}
    return ModelClient(made)


async def opened(it: Driven) -> None:
    """Open the pane of quotas, and wait until it shows the users."""
    await it.press("4", shows="user bob")


async def test_users_are_read_by_themselves_and_their_clients_when_opened(client: ModelClient) -> None:
    async with driven(client) as it:
        await opened(it)
        assert "3+ entities" in it.text
        assert "describe_quotas" not in client.asked
        await it.press("j", "enter", shows="client checkout")
        assert "5 MB/s" in it.line("client checkout")
        assert "client loader" not in it.text
        assert "describe_quotas" not in client.asked


async def test_what_holds_for_a_user_is_told_once_it_is_known(client: ModelClient) -> None:
    async with driven(client) as it:
        await opened(it)
        await it.press("j", shows="effective for user alice")
        # The default client's limit is stronger than the user's. The console learns it from a poll of alice.
        await it.shows("user alice client <default>  over user")


async def test_an_edit_of_one_user_reads_what_is_about_that_user(client: ModelClient) -> None:
    async with driven(client) as it:
        await it.command("set user bob client loader request_percentage=30", shows="staged")
        assert "describe_quotas" not in client.asked
        await it.press("7")
        await it.until(lambda: "20 %" in it.line("request_percentage"))


async def test_what_is_seen_for_the_first_time_is_no_change(client: ModelClient) -> None:
    async with driven(client) as it:
        await opened(it)
        await it.press("j", "enter", shows="client checkout")
        alice = QuotaEntity.of({"user": "alice", "client-id": "checkout"})
        assert it.app.cluster.changed.when(alice) is None
        client.cluster.quotas[alice] = {"producer_byte_rate": 7.0}
        await it.until(lambda: it.app.cluster.changed.when(alice) is not None)


async def test_few_are_read_whole_as_ever(it: Driven) -> None:
    await it.press("4", shows="4 entities")
    assert "describe_quotas" in it.client.asked
