"""Tests of `kac configs` against kafka-configs 4.3: the same command lines, on a separate broker for each tool, give
the same text and the same state of the broker. The cases give the reasons for intended differences.
"""

import asyncio
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from console.admin import changes, cluster, configs, quotas, scram, settings
from console.admin.configs import list_config_resources
from console.admin.link import Link
from console.cli.kafka_configs.command import ConfigsCommand
from console.cli.opening import client_of
from console.contexts import load, resolve
from console.model import changes as model_changes
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, DELETE, GROUP, SET
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from tests.broker.kafka_configs_cases import CASES, FILES, Case
from tests.support import kafka_cluster, real_clusters, worlds
from tests.support.examples import examples
from tests.support.kafka_commands import CONFIGS, KafkaCommands, Ran

pytestmark = [pytest.mark.slow, pytest.mark.core]

ROOT = Path(__file__).parents[2]
SETTLED_SECONDS = 60.0
"""The most seconds that tests wait until a broker describes a change: it learns of it later than the controller,
usually by milliseconds.
"""

IP = "127.0.0.7"
LOGGERS = ConfigResource(BROKER_LOGGER, "1")
_HASHED = re.compile(r"(?<=names: )(?:Set|ArrayBuffer)?\(?([^()\n]*)\)?$", re.MULTILINE)
_CAUSE = re.compile(
    r"^(?:java\.util\.concurrent\.ExecutionException: )?[\w.$]+(?:Exception|Error): ([^\n]*(?:\n(?!\tat )[^\n]*)*)"
)


@dataclass
class Side:
    """A tool and its own broker. command: runs the tool with arguments. before: the state of the broker before the
    tests.
    """

    kafka: kafka_cluster.KafkaCluster
    command: Callable[[list[str]], Ran]
    before: dict[str, Any] = field(default_factory=dict)

    def run(self, words: Sequence[str]) -> Ran:
        """Run the tool with these arguments, after the option --bootstrap-server with the broker's address."""
        return self.command(["--bootstrap-server", self.kafka.bootstrap, *words])

    def ask(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run an operation of kac's client with a new link to the broker, and return its result."""

        async def asked() -> Any:
            async with worlds.linked(settings.ConnectionSettings(bootstrap=self.kafka.addresses)) as link:
                return await operation(link, *arguments, **options)

        return asyncio.run(asked())

    def state(self, names: Collection[str]) -> dict[str, Any]:
        """Return entity as text -> its configs, quotas or credentials, for all entities that a case can change. names:
        the names of the case's topics, users, groups and the like.
        """
        return self.ask(_state, names)

    def text(self, told: str) -> str:
        """Return a tool's output with placeholders for the addresses, folders and ids of this broker."""
        told = told.replace(str(self.kafka.directory), "FOLDER").replace(self.kafka.cluster_id, "ID")
        return re.sub(r"\b127\.0\.0\.1:[0-9]+|data-[0-9a-f]{8}", "HERE", told)


async def _state(link: Link, names: Collection[str]) -> dict[str, Any]:
    listed = await list_config_resources(link, [GROUP, CLIENT_METRICS])
    topics = [topic_resource(name) for name in names if name.startswith("topic-")]
    wanted = [*topics, broker_resource(1), CLUSTER_DEFAULT, *(each for each in listed if each.name in names), LOGGERS]
    listing = await configs.describe_configs(link, wanted)
    state: dict[str, Any] = {
        str(each): [(entry.name, entry.value) for entry in found.overrides(each)]
        for each, found in listing.sets.items()
    }
    # A broker lists a logger after its first use; a logger that has no level of its own has the level of root.
    state[str(LOGGERS)] = [each for each in state[str(LOGGERS)] if each[1] != "INFO"]
    for entity, values in (await quotas.describe_quotas(link)).items():
        if all(name is None or name == IP or name in names for _, name in entity.parts):
            state[repr(entity)] = values
    users = (await scram.describe_scram(link)).users
    return state | {f"SCRAM of {user}": users[user] for user in users if user in names}


async def _put_back(link: Link, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Restore the configs of the entities that all cases share: the broker, the brokers' default and the loggers."""
    for resource in (broker_resource(1), CLUSTER_DEFAULT, LOGGERS):
        old, new = dict(before[str(resource)]), dict(now[str(resource)])
        gone = [model_changes.ConfigOp(key, DELETE) for key in new.keys() - old.keys()]
        back = [model_changes.ConfigOp(key, SET, value) for key, value in old.items() if new.get(key) != value]
        if gone or back:
            await changes.send(
                link, model_changes.AlterConfigs({resource: (*gone, *back)}, broker=1), validate_only=False
            )


async def _forget_users(link: Link, names: Collection[str]) -> None:
    found = {
        entity: dict.fromkeys(values)
        for entity, values in (await quotas.describe_quotas(link)).items()
        if any(name in names for _, name in entity.parts)
    }
    users = (await scram.describe_scram(link)).users
    gone = tuple(
        model_changes.ScramUser(user, each.mechanism) for user in users if user in names for each in users[user]
    )
    for request in (model_changes.AlterQuotas(found), *(model_changes.AlterScram({}, (each,)) for each in gone)):
        await changes.send(link, request, validate_only=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    """Provide (kafka-configs with its broker, kac with its broker)."""
    # A case sets a number of threads below half of Kafka's default.
    properties = {"num.io.threads": "8"}
    for theirs in real_clusters.running(lambda: kafka_cluster.KafkaCluster(brokers=1, properties=properties)):
        for ours in real_clusters.running(lambda: kafka_cluster.KafkaCluster(brokers=1, properties=properties)):
            with KafkaCommands() as commands:
                pair = (Side(theirs, lambda words: commands.run(CONFIGS, words)), Side(ours, kac))
                topics = [_names(number)["topic"] for number in range(len(CASES))]
                new = tuple(model_changes.NewTopic(topic, 1, 1) for topic in topics)
                for side in pair:
                    side.ask(changes.send, model_changes.CreateTopics(new), validate_only=False)
                    side.ask(cluster.describe_cluster)
                    side.before = side.state([])
                yield pair


def kac(words: list[str]) -> Ran:
    """Run `kac configs` in this process with the output format of kafka-configs; return its exit code, output and
    errors.
    """
    out, err = StringIO(), StringIO()

    def context(arguments: Any) -> Any:
        return resolve(load(os.environ, Path.home()), bootstrap=arguments.value("bootstrap-server"))

    code = ConfigsCommand(context, client_of, out=out, err=err).run(["--output", "kafka", *words])
    return Ran(code, out.getvalue(), err.getvalue())


def _names(number: int) -> dict[str, str]:
    kinds = ("topic", "user", "client", "group", "metrics", "missing")
    return {kind: f"{kind}-{number}" for kind in kinds}


def theirs_told(ran: Ran) -> tuple[int, list[str], str]:
    """Return (exit code, blocks of the output, error) of kafka-configs. The error is an exception's own message,
    without stack trace and help.
    """
    err = ran.err.rstrip("\n")
    if err.startswith("Error while executing config command"):
        found = _CAUSE.match(err.split("\n", 1)[1])
        err = found[1] if found else err
    return ran.code, blocks(ran.out), unhashed(err.split("\nOption ")[0].rstrip("\n"))


def ours_told(ran: Ran) -> tuple[int, list[str], str]:
    """Return (exit code, blocks of the output, error) of `kac configs`, without the lines that only kac prints."""
    said = [line for line in ran.err.splitlines() if not line.startswith("kac: ")]
    return ran.code, blocks(ran.out), unhashed("\n".join(said))


def blocks(out: str) -> list[str]:
    """Split an output into blocks, each a heading with the indented lines below it, and return them sorted: Java prints
    them in the order of hashes.
    """
    found: list[str] = []
    for line in out.splitlines():
        if line.endswith("=INFO sensitive=false synonyms={}"):
            continue  # a logger without its own level, which the broker lists after its first use
        if line.startswith("  ") and found:
            found[-1] += f"\n{line}"
        elif line.startswith("Quota configs for ") and " are " in line:
            head, pairs = line.rsplit(" are ", 1)
            found.append(f"{head} are {', '.join(sorted(pairs.split(', ')))}")
        else:
            found.append(line)
    return sorted(found)


def unhashed(text: str) -> str:
    """Return an error message with its lists of names sorted, which Java prints in the order of hashes."""
    return _HASHED.sub(lambda found: ",".join(sorted(re.split(", ?", found[1]))), text)


def compare(sides: tuple[Side, Side], lines: Sequence[list[str]], names: Collection[str], patience: float) -> list[str]:
    """Run the command lines with both tools; return a text for each difference between their results, and between the
    states of their brokers afterwards. For at most `patience` seconds, repeat a --describe whose results differ, and
    the reads of the states.
    """
    theirs, ours = sides
    problems = []
    for words in lines:
        line = shlex.join(words)
        expected = theirs_told(_on(theirs, words))
        got = ours_told(_on(ours, words))
        deadline = monotonic() + patience
        while expected != got and "--describe" in words and monotonic() < deadline and not expected[0]:
            sleep(0.05)
            expected, got = theirs_told(_on(theirs, words)), ours_told(_on(ours, words))
            if expected[0] != got[0]:
                break
        if expected[0] and not expected[2]:
            assert got[2]  # an exception without a message; kac has the name of the error
            got = (*got[:2], "")
        if expected != got:
            problems.append(f"{line}\n  kafka-configs: {expected}\n  kac configs:   {got}")
        states = theirs.state(names), ours.state(names)
        while states[0] != states[1] and monotonic() < deadline:
            sleep(0.05)
            states = theirs.state(names), ours.state(names)
        if states[0] != states[1]:
            problems.append(f"{line}: the state differs\n  {_difference(*states)}")
            break
    return problems


def _on(side: Side, words: list[str]) -> Ran:
    ran = side.run(words)
    return Ran(ran.code, side.text(ran.out), side.text(ran.err))


def _difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    return "\n  ".join(
        f"{key}: {theirs.get(key)} != {ours.get(key)}"
        for key in sorted(theirs.keys() | ours.keys())
        if theirs.get(key) != ours.get(key)
    )


def put_back(sides: tuple[Side, Side], case: str, names: Collection[str] = ()) -> None:
    """If a case has changed configs of brokers, restore on both brokers the configs of the entities that all cases
    share. Delete the users and quotas with these names.
    """
    for side in sides:
        if "--broker" in case or "--entity-type broker" in case:
            side.ask(_put_back, side.before, side.state([]))
        if names:
            side.ask(_forget_users, names)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{n}: {case.lines[-1]}" for n, case in enumerate(CASES)])
def test_says_and_does_what_kafka_configs_does(number: int, sides: tuple[Side, Side], folder: Path) -> None:
    case: Case = CASES[number]
    names = _names(number)
    lines = [[word.format(**names, folder=folder) for word in shlex.split(line)] for line in case.lines]
    try:
        problems = compare(sides, lines, names.values(), 1.0 if case.differs else SETTLED_SECONDS)
    finally:
        put_back(sides, " ".join(case.lines), names.values() if case.differs else ())
    if case.differs:
        assert problems, f"no difference any more: {case.differs}"
        assert all(lines[-1][-1] in problem for problem in problems)
    else:
        assert not problems, "\n".join(problems)


# generated command lines


def _lines() -> st.SearchStrategy[list[str]]:
    """Draw a command line for kafka-configs: mostly a meaningful one in any spelling of its options, sometimes with one
    argument too many.

    At most one of several keys in it is invalid, because kafka-configs reports the first error in the order of Java's
    hashes.
    """
    spaces = st.sampled_from(["", "", "", " ", "  "])
    numbers = st.sampled_from(
        ["1", "1000", "86400000", "-1", "0", "1.5", "1e3", "", "abc", "9223372036854775807", "7d"]
    )
    lists = st.lists(st.sampled_from(["compact", "delete", "0:1", "a"]), max_size=3).map(",".join)
    values = st.one_of(numbers, lists, lists.map("[{}]".format), numbers.map("[{}]".format), st.just("[a=b]"))
    keys = {
        "topic": ["retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas", "preallocate", "no.such"],
        "group": ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "no.such"],
        "client-metrics": ["interval.ms", "metrics", "match", "no.such"],
        "user": ["producer_byte_rate", "request_percentage", "no.such"],
        "client": ["consumer_byte_rate", "controller_mutation_rate", "no.such"],
    }
    right = {"min.insync.replicas": "1", "preallocate": "true", "cleanup.policy": "[compact,delete]"}
    called = {"topic": "topic", "group": "group", "client-metrics": "metrics", "user": "user", "client": "client"}

    @st.composite
    def line(draw: st.DrawFn) -> list[str]:
        kind = draw(st.sampled_from(sorted(keys)))
        name = draw(st.sampled_from([f"{{{called[kind]}}}"] * 8 + ["{missing}", "", "no pe"]))
        known = st.sampled_from(keys[kind])
        flag, type_ = f"--{kind}", kind if kind.endswith("s") else f"{kind}s"
        spelled = [[flag, name], [f"{flag}={name}"], ["--entity-type", type_, "--entity-name", name]]
        parts = [draw(st.sampled_from(spelled))]
        if kind == "user" and draw(st.booleans()):
            parts.append(draw(st.sampled_from([["--client", "{client}"], ["--client-defaults"]])))
        if draw(st.integers(0, 3)):
            parts.append(["--alter"])
            if draw(st.integers(0, 4)):
                fine = (
                    st.lists(st.sampled_from(sorted(right)), max_size=2, unique=True)
                    if kind == "topic"
                    else st.just([])
                )
                added = [(key, right[key]) for key in draw(fine)] + [(draw(known), draw(values))]
                text = ",".join(f"{key}{draw(spaces)}={draw(spaces)}{value}" for key, value in added)
                parts.append(["--add-config", text + draw(st.sampled_from(["", "", "", ",", "]", "=", ",x"]))])
            if not draw(st.integers(0, 3)):
                parts.append(["--delete-config", draw(st.lists(known, min_size=1, max_size=2).map(",".join))])
        else:
            parts.append(["--describe"])
            parts += [["--all"]] if draw(st.booleans()) else []
        if not draw(st.integers(0, 7)):
            parts.append(draw(st.sampled_from([["--describe"], ["--topic", "x"], ["--frob"], ["--entity-default"]])))
        return [word for part in draw(st.permutations(parts)) for word in part]

    return line()


_numbers = iter(range(10_000, 20_000))


@examples(20, at_length=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(words=_lines())
def test_made_up_lines(sides: tuple[Side, Side], words: list[str]) -> None:
    names = _names(next(_numbers)) | {"topic": _names(0)["topic"]}
    line = [word.format(**names) for word in words]
    problems = compare(sides, [line], names.values(), SETTLED_SECONDS)
    assert not problems, "\n".join(problems)
