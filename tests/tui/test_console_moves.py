"""Tests of the pane of moves (reassignments): their progress, why one is stuck, and the operation that began one."""

from collections.abc import Iterator

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource
from console.operations.goals import Drain
from console.plan.edits import CancelMove, ElectPreferred, SetConfig
from console.session.operating import begin, read_operations
from console.session.session import Session
from tests.tui.console_app import driven_on

PLACES = ((1, 2), (3, 1), (2, 3))
RATE = "follower.replication.throttled.rate"


@pytest.fixture
def moving() -> Iterator[ThreadedCluster]:
    """Yield a cluster in which partition orders/0 is moving to broker 4, which is down."""
    with run_in_thread(ClusterSpec(brokers=4)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", PLACES, (1, 2, 3, 4))))
        running.run(lambda c: c.broker_down(4))
        running.call(lambda c: start_move(c, "orders", 0, (4, 2)))
        yield running


async def on(cluster: ThreadedCluster, number_of: str) -> int:
    """If `number_of` is ``begun``, begin a drain in another session, and return the operation's number. Otherwise count
    in the journal: open operations (``open``), those that were asked to cancel (``cancelling``) or to give up
    (``gives up``), or the sum of their throttles in bytes per second (``throttle``).
    """
    addresses = tuple((host, int(port)) for host, port in (a.rsplit(":", 1) for a in cluster.bootstrap.split(",")))
    with AdminClient(ConnectionSettings(addresses)) as client:
        session = Session(client, Context("test", "tests", client.settings), "moves")
        if number_of == "begun":
            return await begin(session, Drain((3,)), 10_000)
        open_ = (await read_operations(session)).open
        counts = {
            "open": len(open_),
            "cancelling": sum(each.cancelling for each in open_),
            "gives up": sum(each.gives_up for each in open_),
            "throttle": sum(each.throttle or 0 for each in open_),
        }
        return counts[number_of]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_move_that_is_stuck_says_why_and_is_cancelled(moving: ThreadedCluster, size: tuple[int, int]) -> None:
    async with driven_on(moving, size=size) as it:
        await it.command("moves", shows="0 running  1 stuck")
        assert "broker down" in it.line("! orders/0")
        await it.shows("broker 4 is down: no byte can arrive", "cancel: back to 2,1")
        await it.press("F")
        await it.until(lambda: len(it.app.session.plan) == 1)
        assert it.edits == [CancelMove("orders", 0)]
        await it.press("u", "M", shows="move topic orders partition 0 to")
        await it.press("escape", "escape")
        await it.command("moves nothing-of-it", shows="no row passes")


async def test_leaders_that_others_should_be_are_elected(moving: ThreadedCluster) -> None:
    """If a broker that was restarted is the preferred leader of a partition that it does not lead, the pane offers
    to elect this broker.
    """
    moving.run(lambda c: c.broker_down(3))
    moving.run(lambda c: c.broker_up(3))
    async with driven_on(moving, shows="orders") as it:
        await it.press("w", shows="preferred leaders, broker 3: 1")
        await it.press("E")
        await it.until(lambda: len(it.app.session.plan) == 1)
        assert it.edits == [ElectPreferred("orders", 1)]


async def test_an_operation_is_in_the_header_and_asked_to_cancel(moving: ThreadedCluster) -> None:
    """The first x on an operation explains what cancelling does. The second x cancels it in this console, because no
    other process works on it.
    """
    number = await on(moving, "begun")
    async with driven_on(moving, shows=f"op {number} waiting") as it:
        await it.press("w", shows=f"operation {number}")
        assert "drain 3" in it.line(f"operation {number}")
        assert it.line(f"operation {number}").startswith("▸")
        await it.shows("no process; W goes on with it here")
        await it.press("x", shows=f"x once more cancels operation {number}")
        assert await on(moving, "cancelling") == 0
        await it.press("x", shows=f"operation {number} (drain 3) is cancelled")
        assert await on(moving, "open") == 0


async def test_the_throttle_of_an_operation_is_changed_and_given_up_by_keys(moving: ThreadedCluster) -> None:
    """Keys write commands for an operation into the command bar, where the user sees them before pressing Enter. The
    commands take effect at the next poll of the process that works on the operation.
    """
    number = await on(moving, "begun")
    async with driven_on(moving, shows=f"op {number} waiting") as it:
        await it.press("w", shows="10 kB/s; t changes it")
        await it.press("t")
        assert it.app.bar.line.text == f"operation {number} throttle 10kB/s"
        await it.press(*["backspace"] * 6, "2", "M", "B", "enter")
        await it.shows(f"operation {number} is asked to copy at 2 MB/s; no process works on it: W goes on")
        await it.shows("2 MB/s; t changes it")
        assert await on(moving, "throttle") == 2_000_000
        await it.press("K")
        assert it.app.bar.line.text == f"operation {number} give-up"
        assert await on(moving, "gives up") == 0
        await it.press("enter", shows=f"operation {number} is asked to end without brokers that do not answer")
        assert await on(moving, "gives up") == 1
        await it.command(f"operation {number + 1} throttle 0", shows=f"no operation {number + 1} is open")


async def test_a_key_for_an_operation_says_where_there_is_none(moving: ThreadedCluster) -> None:
    async with driven_on(moving) as it:
        await it.command("moves", shows="! orders/0")
        await it.press("t", shows="no operation of this host's journal is under the cursor")
        assert not it.app.bar.line.is_open


async def test_a_throttle_that_holds_up_a_copy_is_raised(moving: ThreadedCluster) -> None:
    """F on a copy that a throttle delays writes a command into the command bar that raises the throttle for a limited
    time.
    """
    moving.run(lambda c: c.broker_up(4))
    moving.call(lambda c: c.state.alter_config(broker_resource(3), {RATE: "1000"}))
    async with driven_on(moving) as it:
        await it.command("moves", shows="moves")
        row = stuck_row()
        view = it.app.view
        view.row = lambda: row  # type: ignore[attr-defined]
        view.do_fix()  # type: ignore[attr-defined]
        await it.shows(f"set broker 3 {RATE}=50000000 for 2h")
        await it.press("enter")
        await it.until(lambda: len(it.app.session.plan) == 1)
        (staged,) = it.app.session.plan.staged
        assert staged.edit == SetConfig(broker_resource(3), RATE, "50000000")
        assert staged.lasts_ms == 7_200_000


def stuck_row() -> object:
    """Return the row of a throttled copy that has not grown for five minutes."""
    from datetime import UTC, datetime, timedelta

    from console.present.moves import MoveRow
    from console.triage.moves import Copy

    at = datetime(2026, 3, 4, tzinfo=UTC)
    copy = Copy(10, 1_000, at, 10, at + timedelta(minutes=5), at)
    return MoveRow(("orders", 1), (3, 1), (2, 1), ((3, copy),), (), ((3, 1_000),))
