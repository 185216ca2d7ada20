"""Makes fixtures that many tests use: embedded clusters, and clients, sessions and links of a cluster.

A module declares a fixture in a line: ``cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("t", 6, 3))`` and
``client = worlds.client("cluster")``. Fixtures of clients take the name of a cluster's fixture, embedded or real.
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
from console.model.config import topic_resource
from console.model.coordinators import OFFSETS
from console.session.script_runner import Runner, run_script
from console.session.session import Session
from console.session.triage_polls import Poller
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]

Seed = Callable[[EmbeddedCluster], object]
"""A function that adds content to a running cluster."""
Scope = Literal["function", "module"]


# -- embedded clusters -------------------------------------------------------------------------------------------------


def running(make: Callable[[], AbstractContextManager[Any]], scope: Scope = "function") -> Any:
    """Return a fixture that enters a context manager and provides its value."""

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
    """Return a fixture of an embedded cluster that runs in its own thread.

    Args:
        spec: the specification of the cluster; None for the default one.
        seeds: called with the running cluster, in this order.
        down: the ids of brokers that crash after the seeds.
        after: called with the cluster at the end of its preparation, for changes by clients.
        scope: of the fixture.
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
    """Return a fixture of an embedded cluster that runs in the event loop of the test. spec: None for the default
    specification. seeds: called with the running cluster.
    """

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
    """Return a seed that adds a topic. The topic of offsets is compacted, as coordinators create it.

    Args:
        places: the replicas (broker ids) of each partition, or the number of partitions, spread over the brokers.
        replication: the number of replicas of each partition, if `places` is a number.
        brokers: the ids of the brokers that are alive.
        more: further arguments of `new_topic`.
    """
    replicas = striped(list(brokers), places, replication) if isinstance(places, int) else places

    def seed(cluster: EmbeddedCluster) -> None:
        cluster.state.put_topic(new_topic(name, replicas, brokers, **more))
        if name == OFFSETS:
            cluster.state.alter_config(topic_resource(name), {"cleanup.policy": "compact"})

    return seed


def group(name: str, at: Mapping[tuple[str, int], int], **more: Any) -> Seed:
    """Return a seed that adds a group without members, and the topic __consumer_offsets.

    Args:
        at: topic and partition -> the committed offset.
        more: further fields of `Group`.
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
    """Return an ACL from the names that Kafka's tools use."""
    return Acl(
        AclResourceType.parse(kind),
        name,
        PatternType.parse(pattern),
        principal,
        host,
        AclOperation.parse(operation),
        Permission.parse(permission),
    )


# -- clients of a cluster ----------------------------------------------------------------------------------------------


def settings(cluster: Any, known: int | None = None, **changes: Any) -> ConnectionSettings:
    """Return the connection settings for a cluster, embedded or real. known: how many of its brokers are bootstrap
    addresses; None for all. changes: other fields of the settings.
    """
    return ConnectionSettings(parse_bootstrap(cluster.bootstrap)[:known], **changes)


def _asks(names: tuple[str, ...], made: Callable[..., Any]) -> Any:
    """Return a generator function as a fixture whose parameters have these names, so that pytest passes it those
    fixtures. pytest has to see the names, because tests are grouped by the clusters that they use.
    """
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
    """Yield a link to a cluster; it is closed at the end of the block."""
    link = Link(to)
    try:
        yield link
    finally:
        await link.close()


@contextmanager
def session_on(where: Any, front_end: str = "test", **changes: Any) -> Iterator[Session]:
    """Yield a session of kac on a cluster, or on a cluster with these settings. changes: other fields of its
    context.
    """
    to = where if isinstance(where, ConnectionSettings) else settings(where)
    with AdminClient(to) as client:
        yield Session(client, Context("test", "tests", to, **changes), front_end)


@asynccontextmanager
async def poller_on(where: Any) -> AsyncIterator[Poller]:
    """Yield a poller of a cluster, with the settings that the console uses."""
    with session_on(where, "console") as session:
        async with Poller(session) as poller:
            yield poller


def client(cluster: str, **changes: Any) -> Any:
    """Return a fixture of a client of kac. cluster: the name of the cluster's fixture. changes: other fields of its
    connection settings.
    """

    def made(on: Any) -> Iterator[AdminClient]:
        with AdminClient(settings(on, **changes)) as client:
            yield client

    return _asks((cluster,), made)


def session(cluster: str, journal: bool = True, **changes: Any) -> Any:
    """Return a fixture of a session of kac. cluster: the name of the cluster's fixture. journal: whether it writes a
    journal. changes: other fields of its connection settings.
    """

    def made(on: Any) -> Iterator[Session]:
        with session_on(settings(on, **changes), journal=journal) as session:
            yield session

    return _asks((cluster,), made)


def link(cluster: str, after: Callable[[Any], object] = lambda cluster: None, **changes: Any) -> Any:
    """Return a fixture of a link. cluster: the name of the cluster's fixture. after: called with the cluster after the
    test. changes: other fields of the connection settings.
    """

    async def made(on: Any) -> AsyncIterator[Link]:
        async with linked(settings(on, **changes)) as link:
            yield link
        after(on)

    return _asks((cluster,), made)


def mend(cluster: ThreadedCluster) -> None:
    """Remove all faults that tests have added to an embedded cluster."""
    cluster.call(lambda one: one.faults.clear())


class Ran(NamedTuple):
    """The result of a command: exit code, standard output, and standard error (complaints)."""

    code: int
    out: str
    complaints: str


Kac = Callable[..., Ran]


def process(*words: str, text: str = "", **environ: str) -> Ran:
    """Run a command in a new process, and wait for its end. text: its standard input. environ: variables added to those
    of the test.
    """
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
    """Run a script of kac's statements on a cluster. Return its output and its exit code. output: the format. changes:
    other fields of the context.
    """
    out = StringIO()
    with session_on(settings(cluster, schemas=changes.pop("schemas", None)), "run", **changes) as session:
        runner = Runner(session, text, Printer(output, out))
        await runner.carry_out(parse(text))
    return out.getvalue(), runner.exit_code()


def run_lines(cluster: Any, text: str) -> int:
    """Run a script of kac's statements on a cluster as `kac run` does. Return its exit code; the output goes to
    standard output.
    """
    context = Context("test", "tests", settings(cluster))

    def connect(_context: Context) -> AdminClient:
        client = AdminClient(context.settings)
        client.start()
        return client

    return run_script(text, lambda: context, connect, output="text")


def commands_on(
    cluster: Any, capsys: pytest.CaptureFixture[str], looks_at: Callable[[str], object] = lambda text: None
) -> Kac:
    """Return a function that runs command lines of kac on a cluster, in this process. looks_at: called with the
    output of each command line.
    """

    def run(command: str, *arguments: str) -> Ran:
        code = cli.run([command, "-b", cluster.bootstrap, *arguments])
        ran = Ran(code, *capsys.readouterr())
        looks_at(ran.out + ran.complaints)
        return ran

    return run


def commands(cluster: str = "cluster") -> Any:
    """Return a fixture that provides the function of `commands_on`. cluster: the name of the cluster's fixture."""

    def made(on: Any, capsys: pytest.CaptureFixture[str]) -> Iterator[Kac]:
        yield commands_on(on, capsys)

    return _asks((cluster, "capsys"), made)
