"""Tests of the pane of the fleet: it shows the state of the cluster of each context, read rarely, and only while the
pane is open.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.errors import AuthenticationFailed, Disconnected, RequestTimedOut, Unreachable
from console.admin.settings import ConnectionSettings
from console.contexts.configured import Choice, Configured, Given
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.secret import Secret
from console.present.fleet import Health, health
from console.session import fleet
from console.session.scheduler import Pace
from console.session.session import Session
from console.tui.app import Console
from console.tui.panes.fleet import FleetView
from tests.support import fleets, worlds
from tests.support.fleets import ASKS
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

healthy = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 2, 1, brokers=(1,)), scope="module")
troubled = worlds.cluster(
    ClusterSpec(brokers=3), worlds.topic("orders", ((1, 2), (3, 1), (2, 3))), down=(3,), scope="module"
)


PASSWORDS = {"a": Secret("first")}
locked = worlds.cluster(ClusterSpec(brokers=1, super_users=frozenset({"User:a"}), sasl=SaslSpec(plain=PASSWORDS)))


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the ``host:port`` of a listener that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@asynccontextmanager
async def opened(
    on: ThreadedCluster, contexts: Choice, size: tuple[int, int] = (120, 40), name: str = "this"
) -> AsyncIterator[Driven]:
    with AdminClient(worlds.settings(on)) as client:
        session = Session(client, Context(name, "tests", client.settings))
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.1), contexts=contexts)
        async with app.run_test(size=size) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("orders")
            yield it


def clients() -> int:
    return sum(each.name == "kac-client" for each in threading.enumerate())


def row(it: Driven, name: str) -> str:
    """Return the line of a context, without the mark of the cursor."""
    return next((line[1:] for line in it.lines[4:] if line[1:].startswith(f"{name} ")), "")


def order(it: Driven, names: Sequence[str]) -> list[str]:
    rows = [line.lstrip(" ▸").split(" ")[0] for line in it.lines[4:]]
    return [row for row in rows if row in names]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_each_cluster_has_a_row_and_the_worst_is_first(
    healthy: ThreadedCluster, troubled: ThreadedCluster, tmp_path: Path, size: tuple[int, int]
) -> None:
    at = {"calm": healthy, "bad": troubled, "dead": fleets.nowhere(), "asks": healthy, "odd": "a:1"}
    environ = fleets.write(tmp_path, at, asks=fleets.ASKS, odd="colr = 'red'\n")
    async with opened(healthy, Configured(environ, tmp_path, unlock=False), size) as it:
        await it.press("ctrl+x", shows="fleet")
        await it.until(lambda: "healthy" in row(it, "calm") and "CRIT" in row(it, "bad"))
        await it.until(lambda: "LOST" in row(it, "dead") and "healthy" in row(it, "this"))
        assert "asks for its secret" in row(it, "asks")
        assert "unusable" in row(it, "odd")
        names = ["dead", "bad", "odd", "asks", "calm", "this"]
        assert order(it, names) == names
        assert "broker 3 is down" in row(it, "bad")
        assert " 2/3 " in row(it, "bad")
        await it.press("g", shows="nothing listens there")
        await it.press("exclamation_mark")
        assert order(it, names) == names[:4]
        assert max(map(len, it.lines)) <= size[0]


async def test_a_cluster_that_does_not_answer_holds_up_no_other(
    healthy: ThreadedCluster, silent: str, tmp_path: Path
) -> None:
    at = {**{f"mute{n}": silent for n in range(fleet.AT_ONCE - 1)}, "calm": healthy}
    async with opened(healthy, Configured(fleets.write(tmp_path, at), tmp_path, unlock=False)) as it:
        await it.press("ctrl+x", shows="fleet")
        await it.until(lambda: "LOST" in row(it, "mute0"))
        assert "TIMED_OUT: which brokers there are" in row(it, "mute0")
        view = it.app.view
        assert isinstance(view, FleetView)
        rows = view._fleet.rows
        assert rows["calm"].health is not None
        assert rows["mute0"].since is not None
        assert rows["calm"].health.at < rows["mute0"].since


async def test_enter_opens_the_context_and_this_one_is_now(
    healthy: ThreadedCluster, troubled: ThreadedCluster, tmp_path: Path
) -> None:
    choice = Configured(
        fleets.write(tmp_path, {"bad": troubled, "asks": healthy}, asks=fleets.ASKS), tmp_path, unlock=False
    )
    for name in ("bad", "asks"):
        async with opened(healthy, choice) as it:
            await it.press("ctrl+x", shows=f" {name} ")
            await it.filter(name)
            await it.press("enter")
            await it.until(lambda: it.app.return_value is not None)
            assert it.app.return_value == choice.get(name)
    async with opened(healthy, choice) as it:
        await it.press("ctrl+x", shows=" this ")
        await it.filter("this")
        await it.press("enter")
        await it.until(lambda: it.app.navigator.place.view == "now")


async def test_clients_are_read_only_and_closed_when_the_pane_is_left(
    healthy: ThreadedCluster, troubled: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[AdminClient] = []

    class Noted(AdminClient):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(fleet, "AdminClient", Noted)
    choice = Configured(fleets.write(tmp_path, {"calm": healthy, "bad": troubled}), tmp_path, unlock=False)
    async with opened(healthy, choice) as it:
        before = clients()
        await it.press("ctrl+x")
        await it.until(lambda: "healthy" in row(it, "calm") and "CRIT" in row(it, "bad"))
        assert clients() == before + 2
        assert all(each.settings.read_only for each in made)
        await it.press("2")
        await it.until(lambda: clients() == before, "the end of the clients")
        # The last results are still shown, and are not read again so soon.
        await it.press("ctrl+x")
        assert "CRIT" in row(it, "bad")
        assert len(made) == 2
        assert clients() == before


async def test_a_cluster_is_read_again_at_its_pace_and_only_while_it_is_looked_at(
    healthy: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 30 <= fleet.PACE.every <= 60
    looks: list[str] = []
    look = fleet.Looks.look

    async def noted(self: fleet.Looks) -> Health:
        looks.append(self._context.name)
        return await look(self)

    monkeypatch.setattr(fleet.Looks, "look", noted)
    monkeypatch.setattr(fleet, "PACE", Pace(0.5, rest=0.0, from_begin=True))
    choice = Configured(fleets.write(tmp_path, {"one": healthy, "two": healthy}), tmp_path, unlock=False)
    async with opened(healthy, choice) as it:
        await it.press("ctrl+x")
        await it.until(lambda: len(looks) >= 6)
        assert abs(looks.count("one") - looks.count("two")) <= 1
        await it.press("2")
        view = it.app.navigator._views["fleet"]
        assert isinstance(view, FleetView)
        await it.until(lambda: not view._is_open)
        seen = len(looks)
        read = it.app.session.snapshot
        await it.until(lambda: it.app.session.snapshot is not read)
        assert len(looks) == seen


async def test_wrong_credentials_are_sent_once(healthy: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console sends wrong credentials to a cluster only once, because repeated logins could lock the account. It
    does not retry a cluster with the wrong id either.
    """
    monkeypatch.setattr(fleet, "PACE", Pace(0.05, rest=0.0, from_begin=True))
    tried: list[str] = []
    look = fleet.Looks.look

    async def noted(self: fleet.Looks) -> Health:
        tried.append(self._context.name)
        return await look(self)

    monkeypatch.setattr(fleet.Looks, "look", noted)
    other = Context("other", "tests", worlds.settings(healthy), cluster_id="MkU3OEVBNTcwNTJENDM2Qk")
    last = Context("last", "tests", worlds.settings(healthy))
    async with opened(healthy, Given([other, last])) as it:
        await it.press("ctrl+x", shows="REFUSED")
        await it.until(lambda: tried.count("last") >= 5)
        assert tried.count("other") == 1
        await it.press("g", shows="refused since ")
        assert "kac does not try again by itself: open this pane again" in it.text


EXEC = ASKS.replace("${prompt:its password}", "${exec:sh secret}")


def logged_in(cluster: ThreadedCluster, folder: Path, *passwords: str) -> fleet.Looks:
    """Return the reads of a cluster whose password comes from a command. It prints the given passwords in order, and
    then the last one again and again.
    """
    (folder / "secret").write_text(
        "echo ran >> ran\nn=$(wc -l < ran)\nset -- "
        + " ".join(passwords)
        + "\n[ $n -gt $# ] && n=$#\neval echo \\$$n\n"
    )
    (context,) = Configured(fleets.write(folder, {"prod": cluster}, prod=EXEC), folder).all()
    assert isinstance(context, Context)
    return fleet.Looks(context)


async def looked(looks: fleet.Looks) -> Health:
    """Read the state of the cluster; again if a broker answers too late, as on a busy machine."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(RequestTimedOut, Unreachable, Disconnected):
                return await looks.look()
            await looks.close()


async def test_a_secret_is_fetched_once_and_again_only_after_a_refused_login(
    locked: ThreadedCluster, tmp_path: Path
) -> None:
    looks = logged_in(locked, tmp_path, "first", "second", "second")
    ran = tmp_path / "ran"
    try:
        for _ in range(3):
            assert (await looked(looks)).brokers == 1
            await looks.close()
        assert ran.read_text().count("ran") == 1
        # The command prints another secret, so the console logs in again.
        PASSWORDS["a"] = Secret("second")
        assert (await looked(looks)).brokers == 1
        await looks.close()
        assert ran.read_text().count("ran") == 2
        # The command prints the same secret: the console does not send the refused one again.
        PASSWORDS["a"] = Secret("third")
        with pytest.raises(AuthenticationFailed, match="refused"):
            await looked(looks)
        assert ran.read_text().count("ran") == 3
    finally:
        await looks.close()


async def test_a_secret_that_was_refused_as_well_is_not_kept(
    locked: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = list[ConnectionSettings]()

    def noted(settings: ConnectionSettings) -> AdminClient:
        sent.append(settings)
        return AdminClient(settings)

    monkeypatch.setattr(fleet, "AdminClient", noted)
    monkeypatch.setitem(PASSWORDS, "a", Secret("first"))
    looks = logged_in(locked, tmp_path, "first", "second", "third")
    try:
        assert (await looked(looks)).brokers == 1
        await looks.close()
        PASSWORDS["a"] = Secret("third")
        with pytest.raises(AuthenticationFailed):  # not with the first secret, nor with the second
            await looked(looks)
        await looks.close()
        refused, tried = sent[-1], len(sent)
        assert (await looked(looks)).brokers == 1
        assert refused not in sent[tried:]
    finally:
        await looks.close()


@pytest.mark.parametrize("name", ["\x1b[31mred\x1b[0m", "[bold]no[/bold]", "a\tb\nc", "‮right"])
async def test_hostile_names_are_only_text(healthy: ThreadedCluster, name: str) -> None:
    context = Context(name, name, worlds.settings(healthy))
    async with opened(healthy, Given([context]), name="this") as it:
        await it.press("ctrl+x")
        await it.until(lambda: it.text.count("healthy") >= 2)
        assert not set("\x1b\t‮") & set(it.text)
        assert "[bold]no[/bold]" not in name or name in it.text


async def test_at_rest_nothing_is_written(
    healthy: ThreadedCluster, troubled: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "PACE", Pace(0.2, rest=0.0, from_begin=True))
    looks: list[Health] = []

    def noted(*given: Any) -> Health:
        looks.append(health(*given))
        return looks[-1]

    monkeypatch.setattr(fleet, "health", noted)
    choice = Configured(fleets.write(tmp_path, {"bad": troubled}), tmp_path, unlock=False)
    async with opened(healthy, choice) as it:
        await it.press("ctrl+x")
        await it.until(lambda: "CRIT" in row(it, "bad") and "healthy" in row(it, "this"))
        await it.until(lambda: len(looks) >= 3)
        view = it.app.view
        painted: list[object] = []
        for each in view.query("*"):
            monkeypatch.setattr(each, "refresh", lambda *regions, **_: painted.extend(regions))
        count = len(looks)
        await it.until(lambda: len(looks) >= count + 3)
        assert painted == []


async def test_a_pane_that_is_left_before_the_contexts_are_read_connects_to_none(
    healthy: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = Configured(fleets.write(tmp_path, {"calm": healthy}), tmp_path, unlock=False)
    read, left, done = choice.all, threading.Event(), threading.Event()
    looks: list[object] = []

    def slow() -> Sequence[object]:
        left.wait(PATIENCE)
        done.set()
        return read()

    monkeypatch.setattr(choice, "all", slow)
    monkeypatch.setattr(fleet.Fleet, "step", looks.append)
    async with opened(healthy, choice) as it:
        await it.press("ctrl+x", shows="fleet")
        await it.press("2", shows="orders")
        left.set()
        await it.until(done.is_set)
        await it.press("r", shows="orders")
    assert not looks
