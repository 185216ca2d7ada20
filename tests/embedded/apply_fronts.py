"""Front ends of kac that can apply a plan, edits for them, and events that occur during an apply."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded import brokers, faults, replicas
from console.embedded.state import ClusterState
from console.model.config import topic_resource
from console.plan.risk_rules import NAMES
from console.session.session import Session
from console.shell.line import Line
from console.shell.shell import Shell
from console.tui.app import Console
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

ORDERS, OTHERS = topic_resource("orders"), topic_resource("others")
UNCLEAN, RETENTION = "unclean.leader.election.enable", "retention.ms"
RISK = "unclean-election"
DAY = "86400000"
ALTER = "incremental_alter_configs"


def put_topic(name: str, cluster: brokers.EmbeddedCluster) -> None:
    """Add a topic with one partition, which has replicas on both brokers, to a cluster's state."""
    cluster.state.put_topic(replicas.new_topic(name, replicas.striped([1, 2], 1, 2), [1, 2]))


# -- edits -------------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """An edit that gives one warning, in the form of each front end.

    Args:
        risk: the name of the warning; ``""`` for an edit without a warning.
        statement: the edit in the command language.
        noun, configs: the edit as a command line; `configs` is empty for ACLs, which kafka-configs does not have.
        file: the edit as part of a file with the wanted state.
        safe: a statement that sets the same key without a warning, so that its revert warns; ``""`` if the key can't be
            set for a limited time.
        refused: whether the brokers always refuse the edit.
    """

    risk: str
    statement: str
    noun: tuple[str, ...]
    configs: tuple[str, ...]
    file: str
    safe: str = ""
    refused: bool = False


def of_topic(risk: str, key: str, value: str, safe: str = "") -> Case:
    return Case(
        risk,
        f"set topic orders {key}={value}",
        ("topics", "--alter", "--topic", "orders", "--config", f"{key}={value}"),
        ("configs", "--alter", "--topic", "orders", "--add-config", f"{key}={value}"),
        f'topics:\n  orders:\n    configs:\n      {key}: "{value}"\n',
        f"set topic orders {key}={safe}" if safe else "",
    )


def of_user(risk: str, name: str | None, key: str, value: str, safe: str) -> Case:
    noun = ("--user-defaults",) if name is None else ("--user", name)
    configs = ("--entity-default",) if name is None else ("--entity-name", name)
    user = "<default>" if name is None else name
    return Case(
        risk,
        f"set user {user} {key}={value}",
        ("quotas", "--alter", *noun, "--add-config", f"{key}={value}"),
        ("configs", "--alter", "--entity-type", "users", *configs, "--add-config", f"{key}={value}"),
        f'quotas:\n  - user: {user}\n    limits:\n      {key}: "{value}"\n',
        f"set user {user} {key}={safe}",
    )


PLAIN = of_topic("", RETENTION, DAY)
RISKY = (
    of_topic("isr-above-replication", "min.insync.replicas", "2", "1"),
    of_topic("unclean-election", UNCLEAN, "true", "false"),
    of_topic("retention-zero", RETENTION, "0", DAY),
    of_topic("retention-tiny", RETENTION, "1000", DAY),
    of_topic("retention-in-seconds", RETENTION, "604800", DAY),
    of_topic("message-size-lowered", "max.message.bytes", "1000", "2000000"),
    of_topic("times-refused", "message.timestamp.before.max.ms", "3600", "7200000"),
    of_user("throttles-everyone", None, "producer_byte_rate", "1000000", "2000000"),
    of_user("quota-near-zero", "alice", "producer_byte_rate", "1", "1000000"),
    Case(
        "needs-restart",
        "set broker 1 num.partitions=3",
        ("brokers", "--alter", "--broker", "1", "--add-config", "num.partitions=3"),
        ("configs", "--alter", "--broker", "1", "--add-config", "num.partitions=3"),
        'brokers:\n  1:\n    num.partitions: "3"\n',
        refused=True,
    ),
    Case(
        "acl-locks-out",
        "deny User:ANONYMOUS ALTER on cluster",
        ("acls", "--add", "--deny-principal", "User:ANONYMOUS", "--operation", "ALTER", "--cluster"),
        (),
        "acls:\n  - deny: User:ANONYMOUS\n    operations: [ALTER]\n    cluster: kafka-cluster\n",
    ),
    Case(
        "first-acl",
        "allow User:alice READ on topic orders",
        ("acls", "--add", "--allow-principal", "User:alice", "--operation", "READ", "--topic", "orders"),
        (),
        "acls:\n  - allow: User:alice\n    operations: [READ]\n    topic: orders\n",
    ),
)
"""An edit for each warning, except `WITH_TESTS_OF_THEIR_OWN`."""
WITH_TESTS_OF_THEIR_OWN = frozenset(
    {
        "acl-matches-nothing",
        "transaction-aborted",
        "unclean-loss",
        "records-deleted",
        "replicas-remain",
        "feature-irreversible",
        "assigned-consumers",
        "log-dir-space",
        "no-spare-voter",
        "system-topic",
        "topic-deleted",
        "dead-letters-lost",
        "prunes-many",
        "move-unthrottled",
        "keyless-records",
        "keys-split",
        "connections-below-use",
        "settings-contradict",
        "offsets-expire",
        "retention-above-disk",
        "one-rack",
        "one-replica",
        "own-login-deleted",
        "connector-deleted",
        "connector-offsets-changed",
        # tests/scenarios/test_produce.py
        "null-not-compacted",
        "other-schema",
        "writes-many",
        "read-at-once",
        # tests/scenarios/test_redrive.py
        "read-again",
        "sent-before",
        # tests/scenarios/test_schemas.py
        "readers-break",
        "nothing-checked",
        "in-use",
        "reference-missing",
    }
)
"""Names of warnings that other tests cover, because only a few front ends or releases have their edits."""
assert {case.risk for case in RISKY} == set(NAMES) - WITH_TESTS_OF_THEIR_OWN


# -- front ends with a command line ------------------------------------------------------------------------------------


class Front(NamedTuple):
    """A front end with a command line.

    Args:
        words: returns the command line of an edit.
        yes: the flag, as the hint writes it, that answers the question whether to apply; ``""`` if the front end does
            not ask.
    """

    name: str
    words: Callable[[Path, Case], list[str]]
    yes: str = ""

    def command(self, folder: Path, case: Case, *flags: str) -> list[str]:
        """Return the command line of a case's edit with these flags. In the command language the flags follow the
        verb; elsewhere they are at the end. folder: where to write the files that a front end reads.
        """
        words = self.words(folder, case)
        if words[0] == "run":
            return [*words[:-1], " ".join((words[-1], *flags))]
        return [*words, *flags]

    @property
    def unasked(self) -> tuple[str, ...]:
        """Return the flags that answer every question except those about warnings."""
        return ("--yes",) if self.yes else ()


def by_file(folder: Path, case: Case) -> list[str]:
    file = folder / "wanted.yaml"
    file.write_text(f"version: 1\n{case.file}")
    return ["apply", "-f", str(file)]


FRONTS = (
    Front("run", lambda _, case: ["run", "-e", f"{case.statement}; apply"], yes="apply --yes"),
    Front("noun", lambda _, case: list(case.noun)),
    Front("configs", lambda _, case: list(case.configs)),
    Front("file", by_file, yes="--yes"),
)


# -- events during an apply --------------------------------------------------------------------------------------------


def happens(cluster: brokers.ThreadedCluster, effect: faults.Effect, nth: int, api: str = ALTER) -> None:
    """Inject a fault into the nth request of an API: 1 is the check, 2 the change."""
    cluster.call(lambda c: c.faults.add(faults.Fault(effect, api=api, nth=nth, times=1)))


REFUSED = faults.Fail(44, "not by our rules")
"""A fault that answers the request with POLICY_VIOLATION."""
LOST, NEVER_CAME = faults.Cut(faults.Moment.AFTER), faults.Cut(faults.Moment.BEFORE)
"""The connection ends after the change took effect, or before."""


def meanwhile(cluster: brokers.ThreadedCluster) -> None:
    """Let another client change the same key while the cluster handles the check."""
    happens(cluster, faults.Meanwhile(lambda state: state.alter_config(ORDERS, {RETENTION: "4711"})), 1)


class Gate:
    """Makes the cluster wait in the request that changes something, until a test opens the gate."""

    def __init__(self, cluster: brokers.ThreadedCluster) -> None:
        self.arrived, self.opened = threading.Event(), threading.Event()
        fault = faults.Fault(faults.Meanwhile(self._hold), api=ALTER, nth=2, times=1)
        cluster.call(lambda c: c.faults.add(fault))

    def _hold(self, _state: ClusterState) -> None:
        self.arrived.set()
        assert self.opened.wait(PATIENCE)


# -- interactive front ends --------------------------------------------------------------------------------------------


def settings_of(cluster: brokers.ThreadedCluster) -> ConnectionSettings:
    addresses = (address.rpartition(":") for address in cluster.bootstrap.split(","))
    return ConnectionSettings(tuple((host, int(port)) for host, _, port in addresses), lost_answer_timeout=0.5)


@asynccontextmanager
async def at_prompt(
    cluster: brokers.ThreadedCluster,
) -> AsyncIterator[tuple[Shell, Callable[..., list[None]], PipeInput]]:
    """Run kac's shell; yield it, a function that types lines into it, and its input."""
    settings = settings_of(cluster)
    client = AdminClient(settings)
    client.start()
    context = Context("here", "test", settings)
    with create_pipe_input() as keys:
        shell = Shell(
            context,
            lambda chosen: Session(client, chosen, "shell"),
            Given([context]),
            lambda completer, toolbar: Line(completer, toolbar, input=keys, output=DummyOutput()),
        )
        try:
            yield shell, lambda *lines: [keys.send_text(line + "\r") for line in lines], keys
        finally:
            client.close()


@asynccontextmanager
async def on_screen(cluster: brokers.ThreadedCluster) -> AsyncIterator[Driven]:
    """Run the console, and yield it once it shows the topics."""
    settings = settings_of(cluster)
    with AdminClient(settings) as client:
        contexts = [Context("here", "test", settings), Context("there", "test", settings)]
        app = Console(
            Session(client, contexts[0]), ConsoleSettings(start_pane="topics", refresh=0.2), contexts=Given(contexts)
        )
        async with app.run_test(size=(80, 24)) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("orders")
            yield it


async def stage(it: Driven, key: str, value: str) -> None:
    await it.command(f"set topic orders {key}={value}", shows="staged: topic orders")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
