"""Tests of changes in the console: it stages, shows and validates each change, and asks before it sends it."""

from console.model.changes import AlterConfigs, AlterQuotas, DeleteTopics
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.plan.edits import AppendConfig, SetConfig, SetQuota, UnsetConfig
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient

ORDERS = topic_resource("orders")


async def stage_some(it: Driven) -> None:
    """Stage edits of two topics, of a broker, of the brokers' default, and of a user with a client id."""
    await it.command("set topic orders retention.ms=1d; set topic payments retention.ms=2d")
    await it.command("set broker 2 log.cleaner.min.cleanable.ratio=0.6")
    await it.command("set broker <default> log.preallocate=true")
    await it.command("set user alice client checkout producer_byte_rate=7MB/s")


async def test_e_opens_the_bar_with_the_key_and_stages_what_is_typed(it: Driven) -> None:
    await it.press("j", "enter", shows="2 overrides of")
    await it.press("j", "e")
    assert it.app.bar.line.text == "set topic orders retention.ms="
    await it.type("1d", "enter", shows="staged: topic orders retention.ms")
    assert it.edits == [SetConfig(ORDERS, "retention.ms", "86400000")]
    await it.shows("604800000 → 86400000")
    assert "O*" in it.line("retention.ms")
    await it.shows("7 Plan*1")
    assert it.client.sent == []


async def test_x_deletes_an_override_and_takes_a_staged_edit_back(it: Driven) -> None:
    await it.press("j", "enter", shows="2 overrides of")
    await it.press("x")
    assert it.edits == [UnsetConfig(ORDERS, "cleanup.policy")]
    await it.shows("compact,delete → delete")
    await it.press("x")
    assert not it.app.session.plan
    await it.shows("taken out of the plan: cleanup.policy")
    await it.press("G", "x", shows="not set here")
    assert not it.app.session.plan


async def test_a_appends_to_lists_only(it: Driven) -> None:
    await it.press("j", "enter", shows="2 overrides of")
    await it.press("a")
    assert it.app.bar.line.text == "append topic orders cleanup.policy="
    await it.press("escape", "j", "a", shows="only keys that hold a list")
    await it.command("append topic payments cleanup.policy=compact")
    edit = it.app.session.plan.staged[0].edit
    assert edit == AppendConfig(topic_resource("payments"), "cleanup.policy", "compact")


async def test_undo_and_redo(it: Driven) -> None:
    await it.press("u", shows="nothing to undo")
    await it.command("set topic orders retention.ms=1d")
    await it.press("u")
    assert not it.app.session.plan
    await it.press("U")
    assert len(it.app.session.plan) == 1


async def test_marked_topics_are_all_set(it: Driven) -> None:
    await it.press("space", "space", "e", shows="for the 2 that are marked")
    assert it.app.bar.line.text == "set "
    await it.press("escape")
    await it.command("set retention.ms=1d")
    assert {staged.edit.target for staged in it.app.session.plan.staged} == {topic_resource("audit"), ORDERS}


async def test_the_plan_shows_old_and_new_with_their_sources(it: Driven) -> None:
    await stage_some(it)
    await it.command("unset topic orders cleanup.policy")
    await it.press("7", shows="6 edits on 5 entities   2 requests")
    assert "7 d (topic) → 1 d (topic)" in " ".join(it.line("retention.ms").split())
    await it.shows("compact,delete (topic) → delete (default)")
    assert "5 MB/s  →  7 MB/s" in it.line("producer_byte_rate")


async def test_check_puts_outcomes_on_the_rows_and_keeps_everything() -> None:
    client = ModelClient(
        cluster(), refused={"log.preallocate": Failure("INVALID_REQUEST", "not this one", "Leave it.")}
    )
    async with driven(client) as it:
        await stage_some(it)
        await it.press("7", "c", shows="checked ✓ 4  ✗ 1")
        assert "✗" in it.line("log.preallocate")
        assert "✓" in it.line("producer_byte_rate")
        await it.shows("INVALID_REQUEST: not this one. Leave it.")
        assert all(validate_only for _, validate_only in client.sent)
        assert len(it.app.session.plan) == 5


async def test_apply_asks_and_enter_alone_sends_nothing(it: Driven) -> None:
    await stage_some(it)
    await it.press("7", "A", shows="Apply 5 edits to test (model-cluster)?")
    assert "4 keys of 4 entities, to broker 2" in it.line("IncrementalAlterConfigs")
    assert "1 entity" in it.line("AlterClientQuotas")
    await it.press("enter", "space", "enter")
    assert it.client.sent == []
    await it.press("escape", shows="nothing was sent")
    assert it.client.sent == []
    assert len(it.app.session.plan) == 5


async def test_edits_that_came_behind_the_question_are_not_sent(it: Driven) -> None:
    await stage_some(it)
    await it.press("7", "A", shows="Apply 5 edits to test (model-cluster)?")
    it.app.session.stage([SetConfig(topic_resource("audit"), "retention.ms", "86400000")])
    await it.press("y", shows="the plan changed while the question stood, and nothing was sent")
    assert it.client.sent == []
    assert len(it.app.session.plan) == 6
    await it.press("A", shows="Apply 6 edits to test (model-cluster)?")


async def test_apply_sends_one_request_of_each_kind_and_settles_the_rows(it: Driven) -> None:
    await stage_some(it)
    await it.press("7", "A", "y", shows="applied: 5 entities in 2 requests; change 1: revert 1 takes it back")
    assert not it.app.session.plan
    await it.shows(":revert 1 takes it back  nothing is staged")
    changes = [request for request, validate_only in it.client.sent if not validate_only]
    assert [type(request) for request in changes] == [AlterConfigs, AlterQuotas]
    configs = changes[0]
    assert isinstance(configs, AlterConfigs)
    assert set(configs.ops) == {ORDERS, topic_resource("payments"), broker_resource(2), CLUSTER_DEFAULT}
    assert it.client.cluster.configs[ORDERS]["retention.ms"] == "86400000"
    pair = QuotaEntity.of({"user": "alice", "client-id": "checkout"})
    assert it.client.cluster.quotas[pair]["producer_byte_rate"] == 7e6
    await it.press("2", "j", "enter", shows="86400000  1 d")


async def test_a_failed_check_keeps_apply_from_sending() -> None:
    client = ModelClient(cluster(), refused={"log.preallocate": Failure("INVALID_REQUEST", "not this one")})
    async with driven(client) as it:
        await stage_some(it)
        await it.press("7", "A", "y", shows="nothing was sent")
        assert all(validate_only for _, validate_only in client.sent)
        assert len(it.app.session.plan) == 5


async def test_x_in_the_plan_drops_an_edit_or_an_entity(it: Driven) -> None:
    await stage_some(it)
    await it.press("7", "j", "x")
    assert len(it.app.session.plan) == 4
    await it.press("X")
    assert not it.app.session.plan
    await it.press("u")
    assert len(it.app.session.plan) == 4


async def test_deleting_a_topic_with_records_wants_its_name(it: Driven) -> None:
    await it.press("j", "D")
    assert it.app.bar.line.text == "delete topic "
    await it.type("orders", "enter", shows="staged: topic orders")
    assert it.line("orders").startswith("▸ -")
    await it.press("7", "A", shows="Type orders, the subject of topic-deleted")
    await it.press("y", "enter", shows="that is not the subject of topic-deleted")
    assert it.client.sent == []
    await it.press("backspace")
    await it.type("orders", "enter", shows="applied: 1 entity in 1 request")
    assert [r for r, validate_only in it.client.sent if not validate_only] == [DeleteTopics(("orders",))]
    await it.press("2")
    await it.until(lambda: "orders" not in it.text)


async def test_a_context_with_confirm_wants_its_name() -> None:
    async with driven(confirm=True) as it:
        await it.command("set topic orders retention.ms=1d")
        await it.press("7", "A", shows="Type test, the name of the context")
        await it.type("prod", "enter")
        assert not [r for r, validate_only in it.client.sent if not validate_only]
        for _ in "prod":
            await it.press("backspace")
        await it.type("test", "enter", shows="applied: 1 entity")


async def test_a_read_only_context_refuses_everything_that_changes() -> None:
    async with driven(read_only=True) as it:
        assert "RO" in it.lines[0]
        await it.press("j", "enter", shows="2 overrides of")
        for key in ("e", "x", "a"):
            await it.press(key, shows="context test is read-only")
        assert not it.app.bar.line.is_open
        await it.command("set topic orders retention.ms=1d", shows="context test is read-only")
        assert not it.app.session.plan
        assert " e " not in it.lines[-1]


async def test_quotas_are_edited_from_the_tree(it: Driven) -> None:
    await it.press("4", "j", "e")
    assert it.app.bar.line.text == "set user alice "
    await it.type("producer_byte_rate=2MB/s", "enter")
    alice = QuotaEntity.of({"user": "alice"})
    assert it.edits == [SetQuota(alice, "producer_byte_rate", 2e6)]
    await it.shows("→ 2 MB/s")
    await it.press("x")
    assert not it.app.session.plan
    await it.press("k", "x")
    assert it.app.session.plan.staged[0].edit.target == QuotaEntity.of({"user": None})


async def test_acls_are_revoked_by_the_row(it: Driven) -> None:
    await it.command("allow User:alice READ on topic orders; apply")
    await it.press("y", shows="applied")
    await it.press("5", shows="User:alice")
    await it.press("x")
    assert "-" in it.line("User:alice")[:3]
    await it.press("x")
    assert not it.app.session.plan


async def test_a_secret_is_asked_for_hidden_and_shown_nowhere(it: Driven) -> None:
    await it.command("scram set bob SCRAM-SHA-256 password=?", shows="password of bob")
    await it.type("tr0ub4dor")
    assert "tr0ub4dor" not in it.text
    await it.press("enter", shows="staged: scram bob")
    await it.press("7", shows="scram bob SCRAM-SHA-256")
    assert "tr0ub4dor" not in it.text
    await it.press("s", shows="scram set bob SCRAM-SHA-256")
    assert "tr0ub4dor" not in it.text
    assert not any("tr0ub4dor" in entry for mode in ("command", "secret") for entry in it.app.bar.line.history(mode))


async def test_leaving_with_staged_edits_asks(it: Driven) -> None:
    await it.command("set topic orders retention.ms=1d")
    await it.press("q", shows="Leave? 1 staged edit is not kept.")
    await it.press("escape")
    assert it.app.is_running
    await it.press("q", "y")
    assert it.app._exit


async def test_somebody_elses_change_is_told_in_the_plan(it: Driven) -> None:
    await it.command("set topic orders retention.ms=1d")
    it.client.cluster.configs[ORDERS]["retention.ms"] = "3600000"
    await it.press("7", shows="changed by another client since it was staged")
    assert "1 h" in it.line("retention.ms")


async def test_what_was_applied_stays_on_its_rows_until_something_new_is_staged(it: Driven) -> None:
    await it.command("set topic orders retention.ms=1d")
    await it.press("7", "A", shows="IncrementalAlterConfigs")
    await it.press("y", shows=("applied: 1 entity", "topic orders   applied "))
    assert "7 d (topic) → 1 d (topic)" in " ".join(it.line("retention.ms").split())
    assert it.line("retention.ms").strip().startswith("✓")
    await it.press("j", "x", shows="applied already")
    await it.command("set topic orders retention.ms=2d", shows="1 edit on 1 entity")
    assert "   applied " not in it.text
