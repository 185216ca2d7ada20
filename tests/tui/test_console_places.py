"""Tests of where the cursor is after a change of the pane, of the age that is shown for values, and of proposals for
misspelt verbs.
"""

import re
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from console.language.errors import LanguageError, is_one_slip
from console.language.grammar import parse
from console.language.statements import Where
from console.language.verbs import VERBS
from console.model.config import topic_resource
from tests.tui.console_app import cluster, driven
from tests.tui.model_client import ModelClient, lag

TAKES_AWAY = {verb.name for verb in VERBS.values() if verb.takes_away}


async def test_another_topic_opens_at_its_top_with_its_overrides_in_sight() -> None:
    made = cluster()
    made.configs[topic_resource("payments")] = {"flush.ms": "1000"}
    async with driven(ModelClient(made), size=(80, 16)) as it:
        await it.press("j", "enter", shows="2 overrides of")
        await it.press("G")
        await it.until(lambda: "cleanup.policy" not in it.text)
        await it.press("escape", "j", "enter", shows="topic payments")
        await it.until(lambda: it.line("flush.ms").startswith("▸O"))


async def test_the_same_topic_opens_where_it_was_left() -> None:
    async with driven(size=(80, 16)) as it:
        await it.press("j", "enter", shows="2 overrides of")
        await it.press("j")
        line = next(line for line in it.lines if line.startswith("▸"))
        await it.press("escape", "enter")
        await it.until(lambda: line in it.lines)


async def test_lag_is_read_on_each_tick_and_says_when_it_was_where_it_is_older() -> None:
    client = ModelClient(cluster(), groups={"billing": lag("orders", 5, 0, 37)})
    async with driven(client) as it:
        await it.press("6", shows="42")
        client.groups["billing"] = lag("orders", 5, 0, 41)
        await it.shows("46")
        assert "lag as of" not in it.text
        view = it.app.view
        old = datetime.now(UTC) - timedelta(seconds=30)
        view._swept = old  # type: ignore[attr-defined]
        view.tell_where()
        await it.until(lambda: re.search(r"lag as of \d\d:\d\d:\d\d", it.text) is not None)


def proposed(word: str) -> str:
    """Return the verb that kac proposes for a misspelt one; ``""`` if it proposes none."""
    try:
        parse(word, Where.BAR)
    except LanguageError as error:
        found = re.search(r"did you mean '([^']+)'", error.hint)
        return found[1] if found else ""
    return ""


@given(st.one_of(st.text("abcdeilopruvtksn", min_size=2, max_size=9), st.sampled_from(("elect", "deselect", "evoke"))))
def test_what_takes_away_is_proposed_for_one_slip_alone(word: str) -> None:
    assert {"delete", "apply", "drain"} < TAKES_AWAY
    verb = proposed(word)
    assert verb not in TAKES_AWAY or is_one_slip(word, verb)


def test_slips_are_still_mended() -> None:
    words = ("delet", "dleete", "sett", "unst", "elect")
    assert [proposed(word) for word in words] == ["delete", "delete", "set", "unset", ""]
