"""Tests of `find`, which searches all panes for a text: Enter opens the pane at the found row, Esc goes back."""

from collections.abc import Iterator
from threading import Event

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.present import find
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

ACL = "allow User:checkout READ on topic orders"


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Provide a cluster with two topics; `payments` has a config of its own."""

    def seed(running: EmbeddedCluster) -> None:
        for name in ("checkout.orders", "payments"):
            running.state.put_topic(new_topic(name, striped([1, 2, 3], 3, 3), [1, 2, 3]))
        running.state.alter_config(topic_resource("payments"), {"retention.ms": "777000"})

    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        yield running


async def found(it: Driven, text: str) -> None:
    """Search for a text, and wait until the console has searched all panes."""
    await it.command(f"find {text}")
    await it.until(lambda: "find " in it.lines[2] and "looking" not in it.text)


async def test_topics_and_values_are_found_from_any_pane_and_enter_goes_to_them(it: Driven) -> None:
    await it.press("1", shows="active controller")
    await found(it, "payments")
    await it.until(lambda: any(line.startswith("▸Topics") for line in it.lines))
    await it.press("enter", shows="Part")
    await it.until(lambda: it.line("payments").startswith("▸"))
    await it.press("escape", shows="find payments")
    await it.press("2", shows="payments")
    await found(it, "777000")
    await it.shows("retention.ms = 777000")
    assert "Configs" in it.line("retention.ms = 777000")
    await it.press("enter", shows="topic payments")
    await it.until(lambda: it.line("retention.ms").startswith("▸"))
    await it.press("2", shows="payments")
    await it.press("slash", "slash", "enter")
    assert it.app.bar.line.is_open
    await it.type("payments", "enter", shows="find payments")
    await it.press("escape", "ctrl+f")
    await it.type("orders", "enter", shows="find orders")


async def test_staged_edits_quotas_and_acls_are_found(it: Driven) -> None:
    await it.press("2", shows="payments")
    await it.command("set user checkout producer_byte_rate=1000")
    await it.command("set topic payments max.message.bytes=4242")
    await found(it, "max.message")
    await it.until(lambda: any(line.lstrip("▸ ").startswith("Plan") for line in it.lines))
    await it.press("enter")
    await it.until(lambda: it.line("max.message.bytes").startswith("▸"))
    await it.press("A", "y", shows="applied")
    await found(it, "checkout")
    await it.until(lambda: any(line.lstrip("▸ ").startswith("Quotas") for line in it.lines))
    assert any(line.lstrip("▸ ").startswith("Topics") for line in it.lines)


async def test_a_search_for_another_text_ends_the_one_before(it: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the search before would get the cursor, and Enter would go to one of them."""
    search, held = find.find, Event()

    def held_for_payments(wanted: str, known: find.Known) -> Iterator[find.Hits]:
        assert wanted != "payments" or held.wait(PATIENCE)
        yield from search(wanted, known)

    monkeypatch.setattr(find, "find", held_for_payments)
    await it.press("1", shows="active controller")
    await it.command("find payments", shows="looking")
    await it.command("find checkout.orders", shows="find checkout.orders")
    held.set()
    await it.until(lambda: "looking" not in it.text)
    assert it.row("checkout.orders").startswith("▸Topics")
    assert not it.row("payments")


async def test_what_is_nowhere_is_said_and_a_text_or_a_pattern_is_needed(it: Driven) -> None:
    await it.press("2", shows="payments")
    await found(it, "no-such-thing")
    await it.shows("nothing contains no-such-thing")
    await it.press("escape", shows="payments")
    await it.press("2", shows="payments")
    await it.command("find", shows="find needs a text")
    await it.press("escape")
    await it.command("find '/(['", shows="not a regular expression")
