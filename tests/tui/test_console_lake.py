"""Tests of history, drift and usage on the screen, with the sample lake and without a lake, and of the edits that Enter
stages.
"""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from console.lake.lake import Lake
from console.lake.reader import Tables
from console.lake.schema import DRIFT, HISTORY
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig, SetQuota, UnsetConfig
from console.tui.panes.table import TableView
from tests.support import delta_lake, sample_lake
from tests.support.sample_lake import CLUSTER, NOON, OTHER
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient

ORDERS = topic_resource("orders")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return sample_lake.make_lake(str(tmp_path_factory.mktemp("sample") / "lake"))


@pytest.fixture
def lake(sample: Lake, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KAC_LAKE", sample.where)
    return sample.where


async def says(it: Driven, part: str) -> None:
    """Wait until a text is on the screen, also if line breaks divide it."""
    await it.until(lambda: part in " ".join(it.text.split()), part)


async def to(it: Driven, part: str) -> None:
    """Move the cursor to the first row that contains the text."""
    view = it.app.view
    assert isinstance(view, TableView)

    def found() -> list[object]:
        return [view.key(row) for row in view.rows() if part in view.words(row)]

    await it.until(lambda: bool(found()), part)
    assert view.table.move_cursor(found()[0])
    await it.settle()


async def test_the_timeline_says_what_changed_when_and_who_did_it(lake: str, it: Driven) -> None:
    await it.press("8", shows="orders retention.ms")
    line = it.line("topic orders retention.ms")
    at = f"{NOON.astimezone() - timedelta(minutes=9):%m-%d %H:%M}"
    words = ["▸J", *at.split(), "topic", "orders", "retention.ms", "1", "d", "→", "7", "d", "bob"]
    assert line.split() == words
    assert "alice or …" in it.line("cleanup.policy")
    assert it.line("cleanup.policy").split()[0] == "?"
    assert "······ → ······" in it.line("broker 1 listener.name")
    assert "1 gap" in it.lines[2]
    assert "built" in it.lines[2]
    assert it.line("kac's own journal says so")
    assert "⏎ set topic orders retention.ms=86400000" in it.text
    await to(it, "not polled")
    assert "▸~" in it.line("not polled")


async def test_text_of_a_cluster_is_harmless(lake: str, it: Driven) -> None:
    await it.press("8")
    await to(it, "evil")
    assert "evil\\x1b[31m\\u202e[bold]" in it.line("▸")
    assert "\x1b" not in it.text
    assert "[red]1[/]" in it.text


async def test_enter_stages_the_undo(lake: str, it: Driven) -> None:
    await it.press("8", shows="orders retention.ms")
    await it.press("enter", shows="staged: topic orders retention.ms")
    assert it.edits == [SetConfig(ORDERS, "retention.ms", "86400000")]
    assert "as the lake says" not in it.text


async def test_what_was_not_there_before_is_taken_away(lake: str) -> None:
    client = ModelClient(cluster())
    client.cluster.configs[CLUSTER_DEFAULT]["log.retention.ms"] = "259200000"
    async with driven(client) as it:
        await it.press("8")
        await to(it, "broker <default> log.retention.ms")
        await it.press("enter", shows="staged: broker <default> log.retention.ms")
        assert it.edits == [UnsetConfig(CLUSTER_DEFAULT, "log.retention.ms")]
        await to(it, "user alice consumer_byte_rate")
        await it.press("enter")
        await it.until(lambda: len(it.edits) == 2)
        assert it.edits[1] == SetQuota(QuotaEntity.of({"user": "alice"}), "consumer_byte_rate", 20_000_000.0)


async def test_where_the_cluster_is_not_as_the_lake_says_it_is_told(lake: str) -> None:
    client = ModelClient(cluster())
    client.cluster.configs[ORDERS]["retention.ms"] = "5000"
    async with driven(client) as it:
        await it.press("8", shows="orders retention.ms")
        await it.press("enter")
        await says(it, "has 5000 now, not 604800000 as the lake says")
        assert it.edits == [SetConfig(ORDERS, "retention.ms", "86400000")]


async def test_what_can_not_be_undone_is_said(lake: str, it: Driven) -> None:
    await it.press("8")
    for row, why in (
        ("keystore.passw", "the value is hidden"),
        ("old-orders", "its records are gone"),
        ("evil", "does not exist any more"),
        ("orders partitions", "partitions can't be taken away again"),
        ("not polled", "that is no change"),
    ):
        await to(it, row)
        await it.press("enter")
        await it.until(lambda why=why: why in " ".join(" ".join(it.lines[-5:]).split()))  # type: ignore[misc]
    assert it.edits == []


async def test_what_the_first_poll_showed_is_no_change_to_undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    seen = (CLUSTER, "topic", "orders", "retention.ms", None, "604800000", NOON, None, True, False, None, "none")
    delta_lake.put(lake, HISTORY, sample_lake.arrow("history", [(*seen, "snapshot")]))
    monkeypatch.setenv("KAC_LAKE", lake.where)
    async with driven() as it:
        await it.press("8", shows="first seen → 7 d")
        await it.press("enter")
        await says(it, "what was before that is not known")
        assert it.edits == []


async def test_nothing_is_staged_where_nothing_may_be(lake: str) -> None:
    async with driven(read_only=True) as it:
        await it.press("8", shows="orders retention.ms")
        await it.press("enter", shows="is read-only")
        assert it.edits == []


async def test_a_change_that_was_changed_again_says_so(lake: str, it: Driven) -> None:
    await it.command("history topic orders", shows="history of topic orders")
    await to(it, "retention.ms – 1 d")
    await it.press("enter")
    await says(it, "it was changed again at")
    assert it.edits == [UnsetConfig(ORDERS, "retention.ms")]


async def test_the_history_of_what_is_under_the_cursor_and_back(lake: str, it: Driven) -> None:
    await to(it, "orders")
    await it.press("H", shows=("history of topic orders", "ALLOW READ"))
    assert "payments" not in it.text
    await it.press("escape", shows="payments")
    await it.press("8", shows=("history of cluster", "payments min.insync"))


async def test_the_filter_goes_to_the_lake(lake: str, it: Driven) -> None:
    await it.command("history 'key=retention.* by=alice'")
    await it.until(lambda: "cleanup" not in it.text and "orders retention.ms" in it.text)
    assert "– → 1 d" in it.text
    await it.press("escape")
    await to(it, "cleanup.policy")
    await it.command("history since=1min", shows="no row passes /since=1min")
    await it.command("history compact")
    await it.until(lambda: "retention" not in it.text and "cleanup.policy" in it.text)
    await it.command("history /retention\\.ms")
    await it.until(lambda: "cleanup" not in it.text and "orders retention.ms" in it.text)


async def test_a_filter_that_is_none_is_said_and_changes_nothing(lake: str, it: Driven) -> None:
    for pane in ("history", "usage"):
        await it.command(f"{pane} since=soon")
        await says(it, "'soon' is no time")
        await it.press("escape")
        await it.filter("since=so")
        await says(it, "'so' is no time")
        await it.press("escape")
    await it.command("topics /(")
    await says(it, "not a regular expression")


async def test_without_a_lake_the_pane_has_the_journal_and_says_how_to_make_one(it: Driven) -> None:
    await it.press("8", shows="no changes in the journal")
    await says(it, "kac lake collect")
    await it.press("o")
    await it.press("9", shows="nothing differs from brokers")
    await says(it, "kac lake collect")
    await it.press("tab", shows="`kac compare` compares two as they are now")
    await it.press("tab", shows="no config, quota or ACL has another value than at")
    await it.press("0", shows="alice / checkout")
    assert "5 MB/s" in it.line("alice / checkout")
    await says(it, "kac lake update")
    await it.press("enter", shows="what to suggest is not known without a lake")
    await it.press("d", shows="no rates over time are known without a lake")


async def test_without_a_lake_brokers_are_compared_as_they_are() -> None:
    client = ModelClient(cluster())
    client.cluster.static[3] = client.cluster.static[2]
    client.cluster.configs[broker_resource(2)] = {"log.cleaner.min.cleanable.ratio": "0.4"}
    async with driven(client) as it:
        await it.press("9", shows="log.cleaner.min.cleanable.ratio")
        assert "!0.4" in it.line("log.cleaner.min.cleanable.ratio")
        await it.press("enter")
        await it.until(lambda: bool(it.edits))
        assert it.edits == [UnsetConfig(broker_resource(2), "log.cleaner.min.cleanable.ratio")]


async def test_without_a_lake_what_changed_since_the_start_is_aligned(it: Driven) -> None:
    await it.until(lambda: it.app.journal.events.record is not None and not it.app.journal.events.gaps())
    it.client.cluster.configs[ORDERS]["retention.ms"] = "1000"
    await it.app.session.read_configs([ORDERS])
    await it.press("9", "tab", "tab", shows=("topic orders retention.ms", "it was 604800000"))
    await it.press("enter")
    await it.until(lambda: bool(it.edits))
    assert it.edits == [SetConfig(ORDERS, "retention.ms", "604800000")]
    await it.press("8", shows="seen by this console")
    assert "not kac" in it.line("topic orders retention.ms")


async def test_older_changes_of_the_lake_stand_below_the_events(lake: str, it: Driven) -> None:
    """The pane of events has the changes since the console's start first, and below them those in the lake. Enter
    stages a revert of either. A filter by a kind that the lake does not have hides the lake's rows.
    """
    await it.until(lambda: it.app.journal.events.record is not None and not it.app.journal.events.gaps())
    it.client.cluster.configs[ORDERS]["retention.ms"] = "1000"
    await it.app.session.read_configs([ORDERS])
    await it.press("comma", shows="orders cleanup.policy")
    seen, older = it.line("topic orders retention.ms"), it.line("orders cleanup.policy")
    assert "not kac" in seen
    assert older.split()[0] == "?"
    assert "alice" in older
    assert it.lines.index(seen) < it.lines.index(older)
    await to(it, "user alice consumer_byte_rate")
    await it.press("enter")
    await it.until(lambda: bool(it.edits))
    assert it.edits == [SetQuota(QuotaEntity.of({"user": "alice"}), "consumer_byte_rate", 20_000_000.0)]
    await it.press("tab")
    await it.until(lambda: "cleanup.policy" not in it.text)


async def test_what_a_run_brings_is_shown_by_itself_and_the_cursor_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    monkeypatch.setenv("KAC_LAKE", lake.where)
    async with driven() as it:
        await it.press("8")
        await to(it, "user alice consumer_byte_rate")
        mine = [row for row in sample_lake.history(CLUSTER, NOON) if row[:3] == (CLUSTER, "topic", "orders")]
        (latest,) = (row for row in mine if row[3] == "retention.ms" and row[8])
        at = NOON + timedelta(minutes=1)
        ended = (*latest[:7], at, False, *latest[9:])
        new = (*latest[:4], latest[5], "1000", at, None, True, False, "User:carol", "request", "kraft_log")
        rows = [*(row for row in mine if row != latest), ended, new]
        delta_lake.put(lake, HISTORY, sample_lake.arrow("history", rows))
        await it.shows("7 d → 1 s")
        assert it.line("7 d → 1 s").split()[0] == "R"
        assert it.line("7 d → 1 s").split()[-1] == "carol"
        assert it.line("▸").split()[3:6] == ["user", "alice", "consumer_byte_rate"]
        assert sum("1 d → 7 d" in line for line in it.lines) == 1
        await to(it, "7 d 1 s")
        await it.press("enter")
        await says(it, "as the lake says")  # the model client still has the old value


async def test_the_run_is_shown_where_there_is_room(lake: str) -> None:
    with closing(Tables(lake)) as opened:
        run = opened.run(HISTORY)
    assert run
    async with driven(size=(200, 40)) as it:
        await it.press("8", shows=f"by run {run}")
        assert "unobserved" in it.lines[2]
    async with driven() as it:
        await it.press("8", shows="built")
        assert run not in it.text


async def test_this_hosts_journal_beside_the_lake(lake: str, it: Driven) -> None:
    await it.command("set topic payments retention.ms=1d")
    await it.press("7", "A", "y", shows="applied: ")
    await it.press("8", shows="orders cleanup.policy")
    await it.press("o", shows=("changes applied from this host", "topic payments retention.ms"))
    assert "cleanup.policy" not in it.text
    await it.press("o", shows="orders cleanup.policy")


async def test_a_lake_with_nothing_of_this_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sample_lake.make_lake(str(tmp_path / "lake"), "another-cluster")
    monkeypatch.setenv("KAC_LAKE", made.where)
    async with driven() as it:
        for pane in "890":
            await it.press(pane)
            await says(it, "has nothing of this cluster (model-cluster)")
            assert "another-cluster" in it.text
            await says(it, "kac lake update")


def break_history(lake: Path) -> None:
    (file,) = lake.glob(f"data/history/in_cluster_id={CLUSTER}/*.parquet")
    file.write_bytes(b"PAR1")


async def test_a_damaged_lake_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sample_lake.make_lake(str(tmp_path / "lake"))
    break_history(Path(made.where))
    monkeypatch.setenv("KAC_LAKE", made.where)
    async with driven() as it:
        await it.press("8", shows="can't be read")
        await it.press("9", shows="log.cleaner.threads")


async def test_drift_marks_the_odd_ones(lake: str, it: Driven) -> None:
    await it.press("9", shows="log.cleaner.threads")
    assert it.line("log.retention.ms").split() == [
        "▸H",
        "log.retention.ms",
        "–",
        "!3600000",
        "(1",
        "h)",
        "·",
        "·",
    ]
    assert it.line("log.cleaner.threads").split()[-3:] == ["·", "!4", "·"]
    assert it.line("log.dirs").startswith(" L")
    await it.press("tab", shows="topic orders retention.ms")
    assert "!604800000" in it.line("topic orders retention.ms")
    assert OTHER[:8] in it.text
    await it.press("tab", shows="topic payments min.insync.rep")
    assert "Wanted" in it.text
    assert "\x1b" not in it.text


async def test_enter_aligns_to_the_majority(lake: str) -> None:
    client = ModelClient(cluster())
    client.cluster.configs[broker_resource(1)] = {"log.retention.ms": "3600000"}
    async with driven(client) as it:
        await it.press("9")
        await to(it, "log.retention.ms")
        await it.press("enter", shows="staged: broker 1 log.retention.ms")
        assert it.edits == [UnsetConfig(broker_resource(1), "log.retention.ms")]
        await to(it, "log.dirs")
        await it.press("enter", shows="server.properties")
        assert len(it.edits) == 1


async def test_an_odd_one_that_would_inherit_the_majoritys_value_inherits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    rows = [(CLUSTER, "broker", "broker:1", "log.retention.ms", "1000", "3600000", 3, 1, None, "high")]
    delta_lake.put(lake, DRIFT, sample_lake.arrow("drift", rows))
    monkeypatch.setenv("KAC_LAKE", lake.where)
    client = ModelClient(cluster())
    client.cluster.configs[broker_resource(1)] = {"log.retention.ms": "3600000"}
    client.cluster.configs[CLUSTER_DEFAULT] = {"log.retention.ms": "1000"}
    async with driven(client) as it:
        await it.press("9")
        await to(it, "log.retention.ms")
        await it.press("enter", shows="staged: broker 1 log.retention.ms")
        assert it.edits == [UnsetConfig(broker_resource(1), "log.retention.ms")]
        assert "as the lake says" not in it.text
        del client.cluster.configs[broker_resource(1)]
        await it.command("discard")
        await it.press("enter")
        await says(it, "has 1000 now, not 3600000 as the lake says")


async def test_another_clusters_odd_one_is_not_staged_here(lake: str, it: Driven) -> None:
    await it.press("9", shows="log.cleaner.threads")
    await it.press("tab")
    await to(it, "topic audit cleanup.policy")
    await it.press("enter")
    await says(it, "is changed from its own context")
    assert it.edits == []


async def test_usage_has_the_hottest_with_limit_and_level(lake: str) -> None:
    async with driven(size=(120, 40)) as it:
        await it.press("0", shows="alice / checkout")
        line = it.line("alice / checkout")
        assert line.split()[:6] == ["▸!", "alice", "/", "checkout", "produce", "120%"]
        assert "█" in line
        assert "5 MB/s" in line
        assert "(user, client)" in line
        assert "by (user, client), per broker" in it.text
        assert "suggested 8 MB/s" in it.text


async def test_enter_stages_the_suggested_quota(lake: str, it: Driven) -> None:
    await it.press("0", shows="alice / checkout")
    await it.press("enter", shows="staged: user alice client checkout producer_byte_rate")
    wanted = SetQuota(QuotaEntity.of({"user": "alice", "client-id": "checkout"}), "producer_byte_rate", 8e6)
    assert it.edits == [wanted]
    await to(it, "bob / batch")
    await it.press("enter", shows="nothing is suggested")
    assert it.edits == [wanted]


async def test_a_pair_over_time_with_its_limit_and_usage_of_a_window_and_a_user(lake: str, it: Driven) -> None:
    await it.press("0", shows="alice / checkout")
    await it.press("d", shows="limit")
    assert "╪" in it.text
    assert "!!!" in it.text
    assert "5.67 MB/s" in it.text or "6.3 MB/s" in it.text
    await it.press("escape", shows="svc-8 / *")
    await it.command("usage by=alice")
    await it.until(lambda: "alice / checkout" in it.text and "svc-8" not in it.text)
    await it.press("escape")
    await to(it, "svc-8")
    await it.command("usage mirror")
    await it.until(lambda: "* / mirror" in it.text and "svc-8" not in it.text)
