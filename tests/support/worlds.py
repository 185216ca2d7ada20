"""The worlds that tests begin with, each as a fixture: an embedded cluster, and what asks a cluster.

A module says in a line what it wants: ``cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("t", 6, 3))`` and
``client = worlds.client("cluster")``. What asks a cluster is given the name of its fixture, embedded or real.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from inspect import Parameter, Signature, isasyncgenfunction
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.answers.results import Printer
from console.cli import main as cli
from console.contexts.context import Context, parse_bootstrap
from console.embedded import group_coordinator, groups
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.language.grammar import parse
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.session.script_runner import Runner
from console.session.session import Session
from console.session.triage_polls import Poller
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]

Seed = Callable[[EmbeddedCluster], object]
"""Puts something into a cluster."""
Scope = Literal["function", "module"]


# -- embedded clusters -------------------------------------------------------------------------------------------------


def running(make: Callable[[], AbstractContextManager[Any]], scope: Scope = "function") -> Any:
    """The fixture of what a context manager gives."""

    @pytest.fixture(scope=scope)
    def fixture() -> Iterator[Any]:
        with make() as made:
            yield made

    return fixture


def cluster(
    spec: ClusterSpec | None = None,
    *seeds: Seed,
    down: Sequence[int] = (),
    after: Callable[[ThreadedCluster], object] = lambda cluster: None,
    scope: Scope = "function",
) -> Any:
    """The fixture of a cluster that runs in a thread of its own.

    Args:
        seeds: what is put into it once it runs, in this order.
        down: the brokers that crash after that.
        after: what clients do to it at the end.
    """

    @pytest.fixture(scope=scope)
    def fixture() -> Iterator[ThreadedCluster]:
        with run_in_thread(spec) as made:
            for seed in seeds:
                made.call(seed)
            for broker in down:
                made.run(lambda each, broker=broker: each.broker_down(broker))  # type: ignore[misc]
            after(made)
            yield made

    return fixture


def embedded(spec: ClusterSpec | None = None, *seeds: Seed) -> Any:
    """The fixture of a cluster that runs in the loop of the test. seeds: what is put into it once it runs."""

    @pytest.fixture
    async def fixture() -> AsyncIterator[EmbeddedCluster]:
        async with EmbeddedCluster(spec) as made:
            for seed in seeds:
                seed(made)
            yield made

    return fixture


def topic(
    name: str,
    places: int | Sequence[tuple[int, ...]],
    replication: int = 1,
    brokers: Sequence[int] = (1, 2, 3),
    **more: Any,
) -> Seed:
    """Puts a topic.

    Args:
        places: the replicas of each partition, or how many partitions there are, spread over the brokers.
        replication: how many replicas each of those has.
        brokers: those that are alive.
        more: what else `new_topic` takes.
    """
    replicas = striped(list(brokers), places, replication) if isinstance(places, int) else places
    return lambda cluster: cluster.state.put_topic(new_topic(name, replicas, brokers, **more))


def group(name: str, at: Mapping[tuple[str, int], int], **more: Any) -> Seed:
    """Puts a group without members, and the topic in which coordinators keep what it committed.

    Args:
        at: topic and partition -> the committed offset.
        more: what else `Group` takes.
    """

    def put(cluster: EmbeddedCluster) -> None:
        group_coordinator.ensure_topic(cluster.state)
        offsets = {place: groups.Committed(offset) for place, offset in at.items()}
        cluster.state.groups[name] = groups.Group(name, written=True, offsets=offsets, **more)

    return put


def acl(
    principal: str,
    operation: str,
    kind: str,
    name: str,
    pattern: str = "LITERAL",
    host: str = "*",
    permission: str = "ALLOW",
) -> Acl:
    """An ACL, from the names that Kafka's tools have for its parts."""
    return Acl(
        AclResourceType.parse(kind),
        name,
        PatternType.parse(pattern),
        principal,
        host,
        AclOperation.parse(operation),
        Permission.parse(permission),
    )


# -- what asks a cluster -----------------------------------------------------------------------------------------------


def settings(cluster: Any, known: int | None = None, **changes: Any) -> ConnectionSettings:
    """What connects to a cluster, embedded or real. known: how many of its brokers; None for all."""
    return ConnectionSettings(parse_bootstrap(cluster.bootstrap)[:known], **changes)


def _asks(names: tuple[str, ...], made: Callable[..., Any]) -> Any:
    """The fixture that a generator yields, whose arguments are the fixtures of these names: pytest has to see them,
    as tests are grouped by the clusters that they ask for."""
    fixture: Any
    if isasyncgenfunction(made):

        async def fixture(**given: Any) -> AsyncIterator[Any]:
            async for each in made(*map(given.get, names)):
                yield each
    else:

        def fixture(**given: Any) -> Iterator[Any]:
            yield from made(*map(given.get, names))

    fixture.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in names])
    return pytest.fixture(fixture)


@asynccontextmanager
async def linked(to: ConnectionSettings) -> AsyncIterator[Link]:
    """A link, closed at the end."""
    link = Link(to)
    try:
        yield link
    finally:
        await link.close()


@contextmanager
def session_on(where: Any, front_end: str = "test", **changes: Any) -> Iterator[Session]:
    """A session on a cluster, or on what these settings lead to. changes: of its context."""
    to = where if isinstance(where, ConnectionSettings) else settings(where)
    with AdminClient(to) as client:
        yield Session(client, Context("test", "tests", to, **changes), front_end)


@asynccontextmanager
async def poller_on(where: Any) -> AsyncIterator[Poller]:
    """What polls a cluster, as the console does."""
    with session_on(where, "console") as session:
        async with Poller(session) as poller:
            yield poller


def client(cluster: str, **changes: Any) -> Any:
    """The fixture of a client of the cluster that a fixture gives. changes: of its settings."""

    def made(on: Any) -> Iterator[AdminClient]:
        with AdminClient(settings(on, **changes)) as client:
            yield client

    return _asks((cluster,), made)


def session(cluster: str, journal: bool = True, **changes: Any) -> Any:
    """The fixture of a session on the cluster that a fixture gives. changes: of its settings."""

    def made(on: Any) -> Iterator[Session]:
        with session_on(settings(on, **changes), journal=journal) as session:
            yield session

    return _asks((cluster,), made)


def link(cluster: str, after: Callable[[Any], object] = lambda cluster: None, **changes: Any) -> Any:
    """The fixture of a link to the cluster that a fixture gives. after: what is done to it at the end. changes: of its
    settings."""

    async def made(on: Any) -> AsyncIterator[Link]:
        async with linked(settings(on, **changes)) as link:
            yield link
        after(on)

    return _asks((cluster,), made)


def mend(cluster: ThreadedCluster) -> None:
    """Take every fault away."""
    cluster.call(lambda one: one.faults.clear())


class Ran(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    complaints: str


Kac = Callable[..., Ran]


def process(*words: str, text: str = "", **environ: str) -> Ran:
    """A command in a process of its own. text: its standard input. environ: besides the environment of the test."""
    done = subprocess.run(
        [sys.executable, "-m", "console", *words],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
    )
    return Ran(done.returncode, done.stdout, done.stderr)


async def script(cluster: Any, text: str, output: str = "text", **changes: Any) -> tuple[str, int]:
    """What a script prints on a cluster, and its exit code. changes: of the context."""
    out = StringIO()
    with session_on(settings(cluster, schemas=changes.pop("schemas", None)), "run", **changes) as session:
        runner = Runner(session, text, Printer(output, out))
        await runner.carry_out(parse(text))
    return out.getvalue(), runner.exit_code()


def commands_on(
    cluster: Any, capsys: pytest.CaptureFixture[str], looks_at: Callable[[str], object] = lambda text: None
) -> Kac:
    """Runs a command on a cluster in this process. looks_at: is given all that it writes."""

    def run(command: str, *arguments: str) -> Ran:
        code = cli.run([command, "-b", cluster.bootstrap, *arguments])
        ran = Ran(code, *capsys.readouterr())
        looks_at(ran.out + ran.complaints)
        return ran

    return run


def commands(cluster: str = "cluster") -> Any:
    """The fixture of what runs commands on the cluster that a fixture gives."""

    def made(on: Any, capsys: pytest.CaptureFixture[str]) -> Iterator[Kac]:
        yield commands_on(on, capsys)

    return _asks((cluster, "capsys"), made)
