"""Tests of the pane of delegation tokens. The user sees a new token's HMAC once, and no file contains it."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, SaslSettings
from console.cli.opening import recorded_client
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec, SaslSpec
from console.flight.flight_reader import FlightReader
from console.model.secret import Secret
from console.session.session import Session
from console.tui.app import Console
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on

ALICE = {"alice": Secret("a")}
SIZES = [(80, 24), (200, 60)]


running = worlds.cluster(ClusterSpec(brokers=1, sasl=SaslSpec(plain=ALICE)), scope="module")


@pytest.fixture
def cluster(running: ThreadedCluster) -> ThreadedCluster:
    running.call(lambda each: each.state.tokens.clear())
    return running


@asynccontextmanager
async def as_alice(cluster: ThreadedCluster, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Driven]:
    """Open the console as the user alice, with a flight record in memory as in kac, and yield it."""
    settings = ConnectionSettings(
        parse_bootstrap(cluster.bootstrap), "SASL_PLAINTEXT", SaslSettings("PLAIN", "alice", ALICE["alice"])
    )
    context = Context("prod", "", settings)
    client = recorded_client(context)
    try:
        session = Session(client, context)
        session.recorder = client.recorder
        app = Console(session, ConsoleSettings(start_pane="acls", refresh=0.2))
        async with app.run_test(size=size) as pilot:
            yield Driven(app, pilot, client)
    finally:
        client.close()


async def made(it: Driven, words: str) -> str:
    """Create a token by the key of the pane, with these words in the command; return the token's id."""
    before = it.app.session.snapshot.tokens.keys()
    await it.press("ctrl+k", shows="delegation tokens")
    await it.press("n")
    await it.type(words, "enter")
    await it.until(lambda: len(it.app.session.plan) == 1)
    await it.press("7", "A", shows="Apply")
    await it.press("y")
    await it.until(lambda: len(it.app.session.plan) == 0)
    await it.until(lambda: it.app.session.snapshot.tokens.keys() > before)
    (new,) = it.app.session.snapshot.tokens.keys() - before
    return new


@pytest.mark.parametrize("size", SIZES)
async def test_a_token_is_made_renewed_and_expired(cluster: ThreadedCluster, size: tuple[int, int]) -> None:
    async with as_alice(cluster, size) as it:
        await it.press("ctrl+k", shows="there is no token that you may see")
        short = await made(it, "renewers=User:bob lifetime=1h")
        long = await made(it, "lifetime=7d")
        await it.command("tokens", shows="1 token within an hour of the end")
        assert [row.id for row in it.app.query_one("#view-tokens").rows()] == [short, long]  # type: ignore[attr-defined]
        await it.press("enter", shows="its owner and User:bob")
        await it.press("escape", "j", "e", shows=f"token renew {long} for")
        await it.press("escape", "k", "x")
        await it.until(lambda: len(it.app.session.plan) == 1)
        (staged,) = it.app.session.plan.staged
        assert staged.edit.id == short  # type: ignore[attr-defined]
        await it.press("7", "o", shows="delegation tokens")
        await it.press("exclamation_mark", shows="1 of 2")


async def test_tokens_that_come_and_go_are_events(cluster: ThreadedCluster) -> None:
    async with as_alice(cluster) as it:
        await it.press("ctrl+k", shows="there is no token")
        token = await made(it, "lifetime=7d")
        await it.press("comma", shows="until ")
        assert token in it.line("until ")


def written(folder: Path) -> dict[Path, bytes]:
    """Return path -> content of all files in a folder and below."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_what_proves_a_token_is_in_no_file(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a token was created, its HMAC is neither in the journal nor in the log, the command history or the flight
    record.
    """
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    record = tmp_path / "mine.kacflight"
    async with as_alice(cluster, (300, 24)) as it:
        token = await made(it, "lifetime=7d")
        hmac = cluster.call(lambda each: next(iter(each.state.tokens.values())).hmac)
        await it.shows(base64.b64encode(hmac).decode())
        await it.press("ctrl+k")
        await it.command(f"token renew {token} for 1d")
        await it.until(lambda: len(it.app.session.plan) == 1)
        await it.command(f"record {record}")
        await it.until(record.exists)
    files = written(tmp_path)
    assert any(b"CreateDelegationToken" in data for data in files.values())
    shown = {hmac, hmac.hex().encode(), base64.b64encode(hmac), base64.urlsafe_b64encode(hmac)}
    told = b"".join(each.body for each in FlightReader(record).answers())
    assert [path for path, data in {**files, record: told}.items() if any(form in data for form in shown)] == []


async def test_without_a_login_it_says_so() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as plain:
        async with driven_on(plain, start_pane="acls") as it:
            await it.press("ctrl+k", shows="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED")
