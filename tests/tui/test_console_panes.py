"""Tests of the content of each pane, on a screen of 80×24."""

import pytest

from console.contexts.console_settings import ConsoleSettings
from console.model.cluster import Partition
from console.model.failure import Failure
from console.model.snapshot import with_failures
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient, lag
from themes import DARK, LIGHT
from widgets.lean_driver import Background


async def test_topics_with_the_header_and_the_keys_and_one_through_its_parts(it: Driven) -> None:
    await it.shows("kafka 4.3", "live")
    header = it.lines[0]
    for part in ("test", "RW", "2 brokers", "ctrl 2", "3 topics", "live", "ANONYMOUS"):
        assert part in header, header
    assert "2 Topic" in it.lines[1]
    assert it.line("Name").split() == ["Name", "Part", "RF", "URP", "Off", "Over", "Size", "Changed", "›"]
    await it.until(lambda: "10 MiB" in it.line("orders"))
    assert it.line("orders").split() == ["orders", "3", "2", "2", "10", "MiB"]
    assert it.line("payments").split()[-5:] == ["payments", "1", "2", "10", "MiB"]
    assert "? help" in it.lines[-1]
    await it.press("j", "enter", shows="2 overrides of")
    assert "topic orders" in it.lines[2]
    first, second = it.line("cleanup.policy").split(), it.line("retention.ms").split()
    assert first[1:] == ["cleanup.policy", "compact,delete", "topic"] or first[0] == "▸O"
    assert second[:5] == ["O", "retention.ms", "604800000", "7", "d"]
    assert it.lines.index(it.line("retention.ms")) < it.lines.index(it.line("compression.type"))
    await it.press("tab", shows="3 partitions × 2")
    await it.press("tab", shows="no ACL touches this topic")
    await it.press("escape", shows="payments")


async def test_a_wider_header_has_the_clusters_id_too() -> None:
    async with driven(size=(90, 24)) as it:
        await it.shows("live")
        assert "model-cluster" in it.lines[0]


async def test_the_first_read_brings_the_overrides_of_the_first_topics() -> None:
    async with driven(settings=ConsoleSettings(start_pane="topics", refresh=0)) as it:
        await it.shows("payments")
        await it.until(lambda: it.line("orders").split()[:4] == ["orders", "3", "2", "2"])
        assert it.client.asked.count("describe_configs") == 1


async def test_what_is_read_in_the_background_shows_its_age_once_nothing_follows_it(it: Driven) -> None:
    await it.until(lambda: it.app.reading.reads.configs_since is not None)
    assert "overrides as of" not in it.text
    await it.press("p", shows="overrides as of ")
    await it.press("p")
    assert "overrides as of" not in it.text


async def test_a_topic_in_trouble_is_marked_and_told_of() -> None:
    client = ModelClient(cluster())
    client.partitions["payments"] = (Partition(0, 1, (1, 2), (1,)), Partition(1, -1, (1, 2), ()))
    async with driven(client) as it:
        assert it.line("payments").split()[:6] == ["!", "payments", "2", "2", "2", "1"]
        await it.shows("URP 2", "OFFLINE 1")
        await it.press("G", shows="1 of 2 partitions have no leader")


async def test_internal_topics_are_hidden_until_asked_for() -> None:
    client = ModelClient(cluster())
    client.cluster.topics["__consumer_offsets"] = 1
    client.internal.add("__consumer_offsets")
    async with driven(client) as it:
        assert "__consumer_offsets" not in it.text
        assert "1 internal topic hidden" in it.text
        await it.press("i")
        assert "__consumer_offsets" in it.text


async def test_topics_that_may_not_be_seen_are_counted_and_the_rest_is_shown() -> None:
    client = ModelClient(cluster())
    client.denied = {
        "secret": Failure("TOPIC_AUTHORIZATION_FAILED", "", "Ask for DESCRIBE on the topic."),
        "other": Failure("TOPIC_AUTHORIZATION_FAILED"),
    }
    async with driven(client) as it:
        await it.shows("2 topics not shown: TOPIC_AUTHORIZATION_FAILED")
        assert "payments" in it.text


async def test_details_say_what_applies_without_the_override_and_the_chain(it: Driven) -> None:
    await it.press("j", "enter", shows="Without the override: delete from default")
    await it.shows("topic compact,delete ▸ default log.cleanup.policy delete")
    await it.press("j", shows=(" ── retention.ms ─", "7 d   long, ms", "How long a log is kept & what then."))
    await it.press("d", shows="Esc back")
    await it.press("escape", shows="? help")


async def test_brokers_with_the_quorum_and_the_cluster_default_on_top() -> None:
    client = ModelClient(cluster(), racks={1: "rack-a"})
    async with driven(client) as it:
        await it.press("1", shows="active controller 2  epoch 7  voters 1 (−2), 2")
        rows = [it.line("<default>"), it.line("localhost:9093"), it.line("localhost:9094")]
        assert [it.lines.index(row) for row in rows] == sorted(it.lines.index(row) for row in rows)
        assert "2 ctrl" in rows[2]
        await it.shows("60%")
        await it.press("enter", shows="broker <default>")


async def test_configs_lists_everything_that_has_some_and_quotas_are_a_tree(it: Driven) -> None:
    await it.press("3")
    await it.until(lambda: "logger" in it.text and it.line("orders").split()[-1] == "2")
    rows = [line.replace("▸", " ").split()[:2] for line in it.rows[1:] if line.startswith((" ", "▸"))]
    for kind, name in (
        ("broker", "<default>"),
        ("broker", "1"),
        ("logger", "2"),
        ("client-metrics", "m1"),
        ("topic", "audit"),
    ):
        assert [kind, name] in rows, it.text
    await it.press("o")
    assert "payments" not in it.text
    assert "orders" in it.text
    await it.press("4", shows="user alice")
    for default in ("user <default>", "client <default>", "ip <default>"):
        assert default in it.text
    await it.press("j", "l", "j", "j", shows="effective for user alice, client checkout")
    effective = it.lines[it.lines.index(it.line("effective for")) :]
    assert effective[1].split()[:6] == ["produce", "5", "MB/s", "×2", "=", "10"]
    told = " ".join(" ".join(effective[1:]).split())
    assert "over user alice client <default> 1 MB/s, user <default> 10 MB/s" in told
    assert "consume 50 MB/s ×2 = 100 MB/s user alice" in told


async def test_acls_by_principal_and_by_resource(it: Driven) -> None:
    await it.command("allow User:alice READ,WRITE on topic ord prefixed; deny User:bob ALL on group g from 10.0.0.1")
    await it.press("5", shows="by principal")
    row = it.line("User:bob").split()
    assert row[-6:] == ["group", "g", "literal", "deny", "ALL", "10.0.0.1"], row
    await it.press("o", shows="by resource")
    assert it.line("ord…").split()[-6:] == ["User:alice", "prefixed", "allow", "READ", "*"][-6:] or "ord…" in it.text


async def test_groups_with_their_lag_by_partition() -> None:
    async with driven(ModelClient(cluster(), groups={"billing": lag("orders", 5, 0, 37)})) as it:
        await it.press("6", shows="billing")
        await it.until(lambda: "42" in it.line("billing").split())
        await it.press("enter", shows="lag 42")
        assert it.line("137").split()[:5] == ["orders", "2", "100", "137", "37"]


async def test_the_last_view_and_the_way_back(it: Driven) -> None:
    await it.press("4", shows="user alice")
    await it.press("minus", shows="payments")
    await it.press("minus", shows="user alice")
    await it.press("escape", shows="payments")


async def test_untrusted_names_are_harmless() -> None:
    client = ModelClient(cluster())
    client.cluster.topics["a\x1b[31m\u202eb[bold]"] = 1
    async with driven(client) as it:
        await it.shows("a\\x1b[31m\\u202eb[bold]")
        assert not any(char in it.text for char in "\x1b\u202e")


async def test_what_an_acl_does_among_the_others() -> None:
    async with driven() as it:
        await it.command(
            "allow User:alice READ on topic ord prefixed; allow User:bob ALL on topic *; "
            "deny User:alice READ on topic orders from 10.0.0.1; apply"
        )
        await it.press("y", shows="applied")
        await it.press("5", shows="User:alice")
        await it.press("slash")
        await it.type("alice", "enter", "d", shows="grants            READ, DESCRIBE to User:alice, from anywhere")
        await it.shows("in part by        deny User:alice READ on topic orders from 10.0.0.1")
        await it.shows("without it        User:alice loses READ, DESCRIBE on topics that begin with")
        await it.shows("unless            super users are concerned")
        await it.press("escape", "escape", shows="User:bob")
        await it.press("j", "j", "d", shows="grants            all operations to User:bob, from anywhere")
        await it.shows("closed to all but super users, or open to everyone where")


async def test_a_broker_that_is_back_is_not_said_to_be_missing(it: Driven) -> None:
    """After the cluster lists broker 2 again, the failed read of its loggers is no longer shown. The failed read of
    the loggers of broker 7, which is still missing, is shown in panes with loggers, but not in every pane that
    reads configs.
    """
    await it.until(lambda: "cluster" in it.app.session.snapshot.read_at)
    gone = Failure("UNKNOWN_BROKER", "broker 2 is unknown")
    known = it.app.session.snapshot
    it.app.session.snapshot = with_failures(known, "configs", [("broker_logger 2", gone), ("broker_logger 7", gone)])
    await it.press("2")
    assert "UNKNOWN_BROKER" not in it.text
    await it.press("3", shows="UNKNOWN_BROKER")
    await it.app.session.read_cluster()
    assert [each.entity for each in it.app.session.snapshot.failures] == ["broker_logger 7"]
    await it.shows("logger 7 not shown: UNKNOWN_BROKER")
    await it.press("enter")
    assert "UNKNOWN_BROKER" not in it.text


async def test_on_a_wide_terminal_details_stand_beside_their_list() -> None:
    async with driven(size=(200, 50)) as it:
        await it.press("2", "enter", shows="retention.ms")
        head = next(n for n, line in enumerate(it.lines) if "Source" in line and "Key" in line)
        assert "──" in it.lines[head], it.text
        assert it.lines[head].index("──") > 100
    async with driven(size=(80, 24)) as it:
        await it.press("2", "enter", shows="retention.ms")
        assert "──" not in it.line("Source")


async def test_the_theme_is_the_terminals_until_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "truecolor")
    async with driven() as it:
        assert it.app.theme == DARK.name
        it.app.post_message(Background(is_light=True))
        await it.until(lambda: it.app.theme == LIGHT.name)
        await it.command("theme dark")
        await it.until(lambda: it.app.theme == DARK.name)
        it.app.post_message(Background(is_light=True))
        await it.press("2")
        assert it.app.theme == DARK.name
        await it.command("theme pink", shows="dark")
        assert "ansi" in it.text
