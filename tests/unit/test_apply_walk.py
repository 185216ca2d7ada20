"""Tests that an apply, and each step of an operation, call functions from file to file in one direction, and never call
back into a file that is on the stack.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Cut, Fault, Meanwhile, Moment
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.operations.goals import Drain
from console.operations.operation import State
from console.plan.conflicts import Conflict
from console.plan.edits import SetConfig
from console.plan.reconcile import DEFAULTS, ApplyReport
from console.plan.risk_rules import Risk
from console.session import former_changes
from console.session.apply_flow import Asks, Flags, Question, apply_flow
from console.session.operating import begin, work_on
from console.session.session import Session
from tests.scenarios.test_operations import LAYOUT, world_of
from tests.support import worlds

ROOT = Path(__file__).resolve().parents[2] / "console"
ELSEWHERE = ("embedded/", "admin/", "wire/")
"""Folders whose calls are not recorded: the embedded cluster, and the code that runs on the client's own thread."""
OWNERS = frozenset({"session/session.py", "session/snapshot_reader.py", "session/operation_work.py"})
"""Files that read the cluster, have the plan, or hold the lease of operations; one step may call them several times."""
ROOM = "session"
VALUE = "session/apply_run.py"
ORDERS = topic_resource("orders")
RETENTION = "retention.ms"
ALTER = "incremental_alter_configs"


class Call(NamedTuple):
    """A call from one file of the product to a function of another."""

    caller: str
    file: str
    function: str


class Walk:
    """Records the calls between files while it is the profiler of this thread.

    visits: the first call of each function, if it comes from another file; a nested function counts as its outer
    function. climbs: calls into a file that is already on the stack, if the caller or the called file is in the package
    `session`. The caller of a task is the function that made the task.
    """

    def __init__(self, root: Path, elsewhere: tuple[str, ...] = ()) -> None:
        self._root = f"{root}/"
        self._elsewhere = elsewhere
        self._frames: dict[FrameType, None] = {}  # a resumed coroutine is not a new call
        self._read: set[tuple[str, str]] = set()
        self._begun_by: dict[asyncio.Task[Any], list[str]] = {}
        self.visits: list[Call] = []
        self.climbs: list[Call] = []

    def task(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task of the loop, and record the files on the stack of its maker."""
        made = asyncio.Task(work, loop=loop, **options)
        self._begun_by[made] = self._files(sys._getframe(1))
        return made

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        file = self._file(frame)
        if event != "call" or not file or frame in self._frames or _is_import(frame):
            return
        self._frames[frame] = None
        above = self._files(frame)[1:]
        function = frame.f_code.co_qualname.partition(".<locals>")[0]
        if above and above[0] != file:
            call = Call(above[0], file, function)
            if file in above and ROOM in (Path(above[0]).parent.name, Path(file).parent.name):
                self.climbs.append(call)
            if (file, function) not in self._read:
                self.visits.append(call)
        self._read.add((file, function))

    def _file(self, frame: FrameType) -> str:
        name = frame.f_code.co_filename
        file = name.removeprefix(self._root) if name.startswith(self._root) else ""
        return "" if file.startswith(self._elsewhere) else file

    def _files(self, frame: FrameType | None) -> list[str]:
        """Return the files of a frame and of its callers, the last call first."""
        files = []
        while frame is not None:
            if file := self._file(frame):
                files.append(file)
            frame = frame.f_back
        try:
            current = asyncio.current_task()
        except RuntimeError:
            current = None
        return files + (self._begun_by.get(current, []) if current is not None else [])

    @property
    def twice(self) -> dict[str, list[str]]:
        """Return file -> visited functions for each file of the package `session` that was visited several times,
        except `VALUE` and `OWNERS`.
        """
        count = Counter(each.file for each in self.visits if Path(each.file).parent.name == ROOM)
        return {
            file: [each.function for each in self.visits if each.file == file]
            for file, times in count.items()
            if times > 1 and file != VALUE and file not in OWNERS
        }


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and "console" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@contextmanager
def walking(walk: Walk) -> Iterator[Walk]:
    """Record the calls inside the block in the walk."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(walk.task)
    before = sys.getprofile()
    sys.setprofile(walk)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        loop.set_task_factory(None)


class Agreeing:
    """A front end that accepts everything, and keeps the questions, conflicts, lines and reports."""

    can_ask = True

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.over: list[Conflict] = []
        self.lines: list[str] = []
        self.reports: list[ApplyReport] = []

    async def confirm(self, question: Question) -> str:
        """Keep the question, and return the answer that accepts it."""
        self.asked.append(question)
        return ""

    async def go_over(self, found: tuple[Conflict, ...]) -> bool:
        """Keep the conflicts, and return True: overwrite them."""
        self.over += found
        return True

    def tell(self, line: str) -> None:
        """Keep the line."""
        self.lines.append(line)

    def warn(self, found: tuple[Risk, ...]) -> None:
        """Show nothing."""

    def report(self, report: ApplyReport) -> None:
        """Keep the report."""
        self.reports.append(report)


cluster = worlds.cluster(ClusterSpec(brokers=2), worlds.topic("orders", 1, 2, (1, 2)))
"""A fixture: an embedded cluster on its own thread, so that only kac's calls are recorded."""


@pytest.fixture
async def client(cluster: ThreadedCluster) -> AsyncIterator[AdminClient]:
    addresses = [address.rpartition(":") for address in cluster.bootstrap.split(",")]
    servers = tuple((host, int(port)) for host, _, port in addresses)
    with AdminClient(ConnectionSettings(servers, lost_answer_timeout=0.1)) as made:
        yield made


async def applied(client: AdminClient, edit: SetConfig, front: Agreeing, walk: Walk) -> Session:
    """Stage an edit in a new session, and apply it, with the calls of the apply recorded. Return the session."""
    session = Session(client, Context("test", "tests", client.settings), "run")
    await session.read_cluster()
    await session.read_topics()
    await session.read_configs([ORDERS])
    assert session.stage([edit]).added
    with walking(walk):
        await apply_flow(session, front, DEFAULTS, Asks(), Flags())
    return session


async def test_an_apply_goes_down_and_never_back_up(client: AdminClient, own_home: Path) -> None:
    """An apply that asks about a warning visits the files of its steps in order, and no file twice."""
    front, walk = Agreeing(), Walk(ROOT, ELSEWHERE)
    session = await applied(client, SetConfig(ORDERS, "unclean.leader.election.enable", "true"), front, walk)
    assert [risk.name for risk in front.asked[0].risks] == ["unclean-election"]
    assert [report.ok for report in front.reports] == [True]
    assert not session.plan
    assert walk.climbs == []
    assert walk.twice == {}
    visited = list(dict.fromkeys(call.file for call in walk.visits if Path(call.file).parent.name == ROOM))
    assert [file for file in visited if file != VALUE and file not in OWNERS] == [
        "session/former_changes.py",
        "session/journal_changes.py",
        "session/plan_facts.py",
        "session/retention_reading.py",
        "session/applying.py",
        "session/checking.py",
        "session/request_facts.py",
        "session/describe_again.py",
        "session/read_again.py",
    ]


async def test_so_does_one_that_is_in_trouble(
    cluster: ThreadedCluster, client: AdminClient, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An apply visits no file twice, even if the outcome of a former change is unknown and another client changes the
    same key: it asks whether to overwrite, and sends the edit.
    """
    monkeypatch.setattr(former_changes, "IN_FLIGHT", 0.0)
    cluster.call(lambda c: c.faults.add(Fault(Cut(Moment.BEFORE), api=ALTER, nth=2, times=1)))
    lost = Agreeing()
    await applied(client, SetConfig(ORDERS, RETENTION, "5000"), lost, Walk(ROOT))
    assert not lost.reports[0].ok
    theirs = Meanwhile(lambda state: state.alter_config(ORDERS, {RETENTION: "4711"}))
    cluster.call(lambda c: c.faults.add(Fault(theirs, api=ALTER, nth=1, times=1)))
    front, walk = Agreeing(), Walk(ROOT, ELSEWHERE)
    await applied(client, SetConfig(ORDERS, RETENTION, "1000"), front, walk)
    assert any("outcome unknown" in line for line in front.lines)
    assert len(front.over) == 1
    assert [report.ok for report in front.reports] == [False, True]
    assert cluster.call(lambda c: c.state.configs[ORDERS][RETENTION]) == "1000"
    assert walk.climbs == []
    assert walk.twice == {}


async def test_so_does_an_operation(own_home: Path) -> None:
    """No step of an operation, from its beginning to its end, calls back into a file that is on the stack."""
    async with world_of() as world:
        world.holds(LAYOUT)
        number = await begin(world.session, Drain((3,)), None)
        walk = Walk(ROOT, ELSEWHERE)
        with walking(walk):
            operation = await work_on(world.session, number, pace=world.pace)
    assert operation.state is State.DONE
    assert "session/applying.py" in {call.file for call in walk.visits}
    assert walk.climbs == []
    assert walk.twice == {}


async def test_a_walk_notes_a_climb_also_by_way_of_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk records a call back into a file on the stack even through a task, and a file that is visited twice; a
    coroutine that continues after a wait is not a new visit.
    """
    room = tmp_path / "session"
    room.mkdir()
    (room / "upper.py").write_text(
        "import asyncio, lower\n"
        "async def begin():\n    await lower.asks(back)\n    await lower.begins(back)\n    lower.tell()\n"
        "async def back():\n    await asyncio.sleep(0)\n"
    )
    (room / "lower.py").write_text(
        "import asyncio\n"
        "async def asks(back):\n    await back()\n"
        "async def begins(back):\n    await asyncio.ensure_future(back())\n"
        "def tell():\n    pass\n"
    )
    monkeypatch.syspath_prepend(room)
    upper = import_module("upper")
    with walking(Walk(tmp_path)) as walk:
        await upper.begin()
    climb = Call("session/lower.py", "session/upper.py", "back")
    assert walk.climbs == [climb, climb]
    assert walk.twice == {"session/lower.py": ["asks", "begins", "tell"]}
