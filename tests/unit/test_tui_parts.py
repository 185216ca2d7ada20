"""Tests of parts of the console that need no screen: the keymap, texts about reverting, wrapped lines, and the plan as
a script.
"""

import os
import stat
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.grammar import parse
from console.language.interpret import command_of as command
from console.language.interpret import to_edits
from console.language.statements import Where
from console.model.config import broker_resource, topic_resource
from console.model.secret import Secret
from console.plan import edits
from console.plan.plan import EMPTY, Plan, stage
from console.plan.staged import Staged
from console.present.text import plain
from console.session.command_history import KEPT, CommandHistory
from console.tui import bar as palette
from console.tui import frame as chrome
from console.tui import keymap, plan_script
from console.tui.keymap import EVERYWHERE, KEYS, KeyState, reason
from console.tui.places import BackStack, Place, pane
from console.tui.plan_script import script, script_lines
from console.tui.text_lines import wrap
from tests.support.random_plans import random_edits
from tests.unit.test_plan_laws import WORLD, busy_cluster
from widgets.cells import cell_width

NOTHING = KeyState(read_only=None, row=False, list_key=False, parts=False, staged=False, past=False, future=False)


def test_keys_are_declared_once_in_a_view_and_take_none_of_those_that_move() -> None:
    for view in {view for key in KEYS for view in key.where} - {EVERYWHERE}:
        there = [key for key in KEYS if view in key.where or EVERYWHERE in key.where]
        taken = [one for key in there for one in key.keys.split(",")]
        assert len(taken) == len(set(taken)), view
    taken = {one for key in KEYS for one in key.keys.split(",")}
    assert not taken & {"j", "k", "g", "G", "h", "l", "up", "down", "enter", "space", "pageup", "pagedown"}
    assert not taken & {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+c"}
    for key in KEYS:
        assert key.help
        assert not key.help.endswith(".")
        reason(key, NOTHING)


def test_a_key_that_does_nothing_says_why_and_a_remapped_one_is_in_the_footer() -> None:
    assert "nothing is staged" in reason(keymap.BY_ID["apply"], NOTHING)
    assert "prod is read-only" in reason(keymap.BY_ID["edit"], NOTHING._replace(read_only="prod", row=True))
    assert reason(keymap.BY_ID["edit"], NOTHING._replace(row=True)) == ""
    line, _ = chrome.footer(chrome.hints([keymap.BY_ID["edit"]], "", lambda _: "f4"), 80)
    assert "f4 edit" in plain(line)


@given(st.integers(20, 200), st.sampled_from(sorted({v for key in KEYS for v in key.where})))
def test_the_footer_fits_and_always_offers_help(width: int, view: str) -> None:
    keys = [key for key in KEYS if view in key.where or EVERYWHERE in key.where]
    line, actions = chrome.footer(chrome.hints(keys, "open", lambda action: keymap.BY_ID[action].keys), width)
    assert cell_width(plain(line)) <= width
    assert plain(line).rstrip().endswith("? help")
    assert len(line) == len(actions)


def test_tabs_are_found_by_where_they_stand() -> None:
    line = chrome.tabs(2, 3, width=120)
    assert "7 Plan*3" in plain(line)
    place = next(place for place, (text, _) in enumerate(line) if text.startswith("4 "))
    assert chrome.tab_at(place) == 4
    assert chrome.tab_at(len(line) - 1) == 12
    assert chrome.tab_at(len(chrome.tabs(2, 3, width=80)) - 1) == 10, "the events have no tab where it is narrow"
    assert chrome.tab_at(len(line)) is None
    assert chrome.tab_at(None) is None


def test_the_palette_finds_by_words_and_puts_what_works_first() -> None:
    keys = list(keymap.keys_of(keymap.PLAN))

    def why(key: keymap.Key) -> str:
        return reason(key, NOTHING._replace(row=True))

    found = palette.palette_candidates(keys, "plan", why)
    assert {"check", "apply", "drop"} <= {candidate.text for candidate in found}
    assert found[0].text == "drop"
    assert palette.palette_choice(keys, "apply", why) == keymap.BY_ID["apply"]
    assert palette.palette_choice(keys, "no such thing", why) is None


def test_the_way_back_is_the_way_that_was_gone() -> None:
    trail = BackStack(pane(2))
    topic = Place(keymap.CONFIGS, 2, "orders")
    trail.go(topic)
    trail.go(topic._replace(view=keymap.TOPIC), aside=True)
    trail.go(pane(7))
    assert trail.last() == topic._replace(view=keymap.TOPIC)
    back = trail.back()
    assert back == topic._replace(view=keymap.TOPIC)
    trail.go(back)
    assert trail.back() == pane(2)
    trail.go(pane(2))
    assert trail.back() is None


def test_a_place_inside_a_pane_leads_up_to_it() -> None:
    assert BackStack(Place(keymap.CONFIGS, 3, "x")).back() == pane(3)


@given(
    st.lists(st.tuples(st.text("ab 日-1(", max_size=30), st.sampled_from(["", "muted"])), max_size=6),
    st.integers(-2, 60),
    st.integers(0, 30),
)
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(line: list[tuple[str, str]], width: int, indent: int) -> None:
    lines = wrap(line, width, indent)
    assert all(cell_width(plain(part)) <= max(width, 2) for part in lines)
    assert "".join("".join(plain(part).split()) for part in lines) == "".join(plain(line).split())


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("broker 3 ISR, payments (12 partitions)", 28, ["broker 3 ISR, payments", "(12 partitions)"]),
        ("replicas of 1,234 partitions", 18, ["replicas of", "1,234 partitions"]),
        ("at most 3.9 GiB", 11, ["at most", "3.9 GiB"]),
        ("all 12 partitions", 9, ["all 12 pa", "rtitions"]),
        ("at 12:00:01 3 of 4", 13, ["at 12:00:01", "3 of 4"]),
        ("alice / checkout 120 % of quota", 20, ["alice / checkout", "120 % of quota"]),
    ],
)
def test_a_number_stays_with_what_it_counts(text: str, width: int, lines: list[str]) -> None:
    assert [plain(part).rstrip() for part in wrap([(text, "")], width)] == lines


@pytest.mark.parametrize("seed", range(60))
def test_the_script_of_a_plan_stages_the_same_edits(seed: int) -> None:
    rng = Random(seed)
    known = busy_cluster(rng).describe()
    plan = stage(EMPTY, random_edits(rng, WORLD, known), known).plan
    for edit in (staged.edit for staged in plan.staged):
        if _never_typed(edit):
            continue
        if isinstance(edit, edits.UpsertScram) or _holds_secret(edit):
            assert "?" in command(edit)
            continue
        again = [one for statement in parse(command(edit), Where.BAR) for one in to_edits(statement, known, plan=plan)]
        assert again == [edit]


def test_no_more_commands_are_made_than_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan pane computes only the commands that are visible, because it draws them again after each change, also of
    a plan of 100,000 edits.
    """
    names = [topic_resource(f"orders-{n}") for n in range(50)]
    plan = Plan(tuple(Staged(edits.SetConfig(name, "retention.ms", "1000"), None) for name in names))
    whole, made = script_lines(plan), list[edits.Edit]()

    def noted(edit: edits.Edit) -> str:
        made.append(edit)
        return command(edit)

    monkeypatch.setattr(plan_script, "command_of", noted)
    assert script_lines(plan, 7) == whole[:7]
    assert len(made) == 7
    assert len(whole) == 50


def test_a_script_holds_no_secrets() -> None:
    edit = edits.SetConfig(broker_resource(1), "listener.name.x.ssl.key.password", Secret("hunter2"))
    text = script(Plan((Staged(edit, None),)))
    assert text == "set broker 1 listener.name.x.ssl.key.password=?"


def _never_typed(edit: edits.Edit) -> bool:
    """Return whether a plan may contain an edit that no statement can express: a right that Kafka never checks, or a
    plug-in's key without a prefix.
    """
    if isinstance(edit, edits.AddAcl | edits.RemoveAcl):
        return edit.acl.resource_type.name == "CLUSTER" and edit.acl.operation.name == "READ"
    return edit.key == "a.plugin.key"


def _holds_secret(edit: object) -> bool:
    values = [edit.value] if isinstance(edit, edits.SetConfig) else []
    values += list(edit.topic.configs.values()) if isinstance(edit, edits.CreateTopic) else []
    return any(isinstance(value, Secret) for value in values)


def test_commands_are_kept_for_the_next_session_and_for_nobody_else(tmp_path: Path) -> None:
    file = CommandHistory(tmp_path / "kac" / "commands")
    assert file.read() == []
    file.add("set topic a retention.ms=1d")
    file.add("   ")
    file.add("two\nlines")
    assert CommandHistory(tmp_path / "kac" / "commands").read() == ["set topic a retention.ms=1d"]
    assert stat.S_IMODE((tmp_path / "kac" / "commands").stat().st_mode) == 0o600


def test_a_long_history_is_cut_to_its_last_half(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("".join(f"undo {number}\n" for number in range(KEPT)))
    file = CommandHistory(tmp_path / "commands")
    assert len(file.read()) == KEPT
    file.add(f"undo {KEPT}")
    kept = file.read()
    assert len(kept) == KEPT // 2 + 1
    assert kept[-1] == f"undo {KEPT}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_history_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    file = CommandHistory(tmp_path / "kac" / "commands")
    file.add("undo")
    assert file.read() == []
