"""Tests of config values that are text where Kafka has a number, or absurdly large numbers: kac shows them unchanged
and does not fail.
"""

import json
import math
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from console.admin.client import AdminClient
from console.admin.configs import describe_configs
from console.admin.settings import ConnectionSettings
from console.cli.main import run
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import EmbeddedCluster
from console.embedded.tables import Partition, Topic
from console.model import codes, config, inheritance
from console.model.numbers import LONG_MAX, LONG_MIN, long_number
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import quota, unit_of
from console.plan.kinds.topic_creation import default_partitions
from console.plan.topic_risks import config_number
from console.plan.values import canonical, same_value
from console.present.header import _release_order
from console.present.values import config_value
from console.session.session import Session
from console.tui.app import Console
from tests.hostile.cluster import HostileCluster
from tests.hostile.test_limits import died_of_a_signal, run_kac
from tests.support import worlds
from tests.tui.console_app import Driven, context

LONG, LONGER = "9" * 400, "9" * 5000
"""Floats end at 309 digits, and Python parses ints of up to 4,300 digits."""
TEXTS = (
    LONG,
    "-" + LONG,
    LONGER,
    "-" + LONGER,
    "1e400",
    "nan",
    "-inf",
    "٣",
    "²",
    "1_000",
    " 7 ",
    "+5",
    "",
    "--3",
    "0x10",
)
KEYS = ("retention.ms", "segment.bytes", "log.retention.hours", "log.retention.minutes", "log.retention.ms", "flush.ms")

texts = (
    st.sampled_from(TEXTS)
    | st.text(st.characters(categories=["Nd", "No", "Nl", "Zs"]) | st.sampled_from("+-.e"))
    | st.from_regex(r"[+-]?[0-9]{1,40}", fullmatch=True)
)


@given(texts)
def test_a_clusters_number_is_one_that_a_java_long_holds(text: str) -> None:
    number = long_number(text)
    assert number is None or (LONG_MIN <= number <= LONG_MAX and text.lstrip("+-").isascii())


@given(st.sampled_from(KEYS), texts)
def test_any_text_has_a_human_form_or_none(key: str, text: str) -> None:
    assert len(config_value(key, text)) < 60
    for other in KEYS:
        inheritance.in_terms_of(other, key, text)
    for type_ in range(12):
        assert same_value(codes.ConfigType(type_), text, text)
        canonical(codes.ConfigType(type_), text)
    assert unit_of(key).short in ("ms", "s", "min", "h", "bytes", "bytes/s", "")


@given(texts)
def test_any_text_may_stand_for_a_brokers_numbers(text: str) -> None:
    def entries(source: Any, *names: str) -> config.ConfigSet:
        return config.ConfigSet(
            tuple(config.ConfigEntry(name, text, source, False, False, codes.ConfigType(3), (), None) for name in names)
        )

    snapshot = structs.replace(
        Snapshot(),
        configs={
            config.broker_resource(1): entries(codes.DYNAMIC_BROKER_CONFIG, "num.partitions"),
            config.topic_resource("orders"): entries(codes.DYNAMIC_TOPIC_CONFIG, "min.insync.replicas", "retention.ms"),
        },
    )
    assert 1 <= default_partitions(snapshot) <= 10_000
    config.min_isr(snapshot.configs, "orders")
    assert isinstance(config_number(snapshot.configs[config.topic_resource("orders")], "retention.ms", -1), int)
    assert isinstance(_release_order(f"4.{text}"), tuple)


@given(st.sampled_from(["producer_byte_rate", "request_percentage", "controller_mutation_rate", "x"]), st.floats())
def test_any_number_may_be_a_quota(key: str, value: float) -> None:
    assert len(quota(key, value)) < 60


def set_everywhere(cluster: HostileCluster, value: str) -> None:
    """Let brokers describe every config of every resource with this value."""
    cluster.rewrite(
        "describe_configs",
        lambda _kio, answer: replace(
            answer,
            results=tuple(
                replace(result, configs=tuple(replace(each, value=value) for each in result.configs))
                for result in answer.results
            ),
        ),
    )


COMMANDS = (
    ("snapshot",),
    ("export",),
    ("topics", "--describe"),
    ("configs", "--describe", "--all", "--topic", "orders"),
    ("brokers", "--describe", "--broker", "1"),
    ("leftovers",),
    ("moves", "balance"),
    ("run", "-e", "set topic orders retention.ms=1d; plan; create topic t replication=1; plan"),
)


@pytest.mark.slow
@pytest.mark.parametrize("value", [LONG, LONGER])
def test_no_command_fails_at_a_value(hostile: HostileCluster, value: str) -> None:
    assert (
        run_kac("run", "-b", hostile.bootstrap, "-e", "create topic orders partitions=2; apply --yes").returncode == 0
    )
    set_everywhere(hostile, value)
    for command, *rest in COMMANDS:
        result = run_kac(command, "-b", hostile.bootstrap, *rest)
        assert "Traceback" not in result.stderr, (command, result.stderr)
        assert not died_of_a_signal(result)
        assert result.returncode in (0, 1, 3), (command, result.stderr)


@pytest.mark.parametrize("limit", [math.inf, math.nan, 1e308])
def test_a_snapshot_is_json_whatever_a_limit_is(
    hostile: HostileCluster, limit: float, capsys: pytest.CaptureFixture[str]
) -> None:
    entity = QuotaEntity.of({"user": "alice"})
    hostile.embedded.call(lambda cluster: cluster.state.alter_quota(entity, {"request_percentage": limit}))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    for command in (
        ("snapshot",),
        ("quotas", "--list", "--output", "json"),
        ("quotas", "--describe", "--user", "alice", "--output", "json"),
        ("quotas", "--effective", "--user", "alice", "--client", "a", "--output", "json"),
        ("run", "--output", "json", "-e", "list quotas; show user alice"),
        ("configs", "--describe", "--entity-type", "users", "--output", "json"),
        ("configs", "--describe", "--entity-type", "users", "--entity-name", "alice", "--output", "json"),
        ("run", "--output", "json", "-e", "unset user alice request_percentage; plan"),
    ):
        code, said = run([command[0], "-b", hostile.bootstrap, *command[1:]]), capsys.readouterr()
        assert code in (0, 3), (command, said.err)
        decoder = json.JSONDecoder(parse_constant=refuse)
        rest, texts = said.out.strip(), ""
        while rest:
            document, end = decoder.raw_decode(rest)
            texts += json.dumps(document, allow_nan=False)
            rest = rest[end:].lstrip()
        assert math.isfinite(limit) or f'"{limit}"' in texts or '"Infinity"' in texts or '"NaN"' in texts, command
    assert run(["quotas", "-b", hostile.bootstrap, "--list"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("value", [LONG, LONGER, "nan"])
async def test_the_screen_shows_such_a_value_as_it_is(hostile: HostileCluster, value: str) -> None:
    def fill(cluster: EmbeddedCluster) -> None:
        cluster.state.put_topic(Topic("orders", uuid4(), (Partition((1,), (1,), 1),)))
        cluster.state.alter_quota(QuotaEntity.of({"user": "bob"}), {"producer_byte_rate": math.inf, "x": math.nan})

    hostile.embedded.call(fill)
    set_everywhere(hostile, value)
    with AdminClient(ConnectionSettings((hostile.addresses[1],))) as client:
        app = Console(Session(client, context()), ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)  # type: ignore[arg-type]
            await it.shows("orders")
            await it.press("enter", shows="retention.ms")
            await it.shows(value[:10])
            for pane in "34567890":
                await it.press(pane)
            await it.press("4", shows="bob")
            assert app.is_running


async def test_a_broker_describes_nothing_for_which_it_was_not_asked(hostile: HostileCluster) -> None:
    asked = config.broker_resource(1)

    def others(_kio: Any, answer: Any) -> Any:
        more = tuple(replace(answer.results[0], resource_name=name) for name in (LONG, "x", "2"))
        return replace(answer, results=(*answer.results, *more))

    hostile.rewrite("describe_configs", others)
    async with worlds.linked(ConnectionSettings((hostile.addresses[1],))) as link:
        listing = await describe_configs(link, [asked])
        assert set(listing.sets) == {asked}
        odd = config.ConfigResource(codes.ResourceType(codes.BROKER), LONGER)
        assert odd not in (await describe_configs(link, [odd, asked])).sets
