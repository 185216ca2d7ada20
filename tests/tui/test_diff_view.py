"""Tests of the view of differences: its lines, the places at which its cursor stops, and its speed with a hundred
thousand changes.
"""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.stage import Stage, shown
from widgets.diff_view import DiffGroup, DiffLine, DiffView
from widgets.line_view import LineMessage

WORDS = "INVALID_REQUEST  Cannot update these configs dynamically: log.dirs, and what the broker has to say besides"

GROUPS = [
    DiffGroup(
        "orders",
        "topic orders",
        [
            DiffLine(
                "retention",
                "retention.ms",
                [("7 d ", ""), ("(topic)", "muted")],
                ("1 d", "pending"),
                ("✓", "ok"),
                "W accept",
                [("≈ 310 GiB are deleted within minutes", "danger")],
            ),
            DiffLine("policy", "cleanup.policy", "delete", "compact", ("✓", "ok")),
        ],
    ),
    DiffGroup("b2", "broker 2", [DiffLine("dirs", "log.dirs", "/a", "/b", ("✗", "failed"), "", [(WORDS, "failed")])]),
    DiffGroup("acls", "acls", [DiffLine("acl", "+ allow User:bob READ on topic orders from *", arrow=False)]),
]


async def test_changes_stand_under_their_groups_with_what_came_of_them() -> None:
    app = Stage(lambda: DiffView(GROUPS))
    async with app.run_test(size=(60, 12)):
        assert app.screen_lines() == [
            "▸  topic orders",
            " ✓   retention.ms    7 d (topic)  →  1 d           W accept",
            "        ≈ 310 GiB are deleted within minutes",
            " ✓   cleanup.policy       delete  →  compact",
            "   broker 2",
            " ✗   log.dirs                 /a  →  /b",
            "        INVALID_REQUEST  Cannot update these configs",
            "        dynamically: log.dirs, and what the broker has to",
            "        say besides",
            "   acls",
            "     + allow User:bob READ on topic orders from *",
            "",
        ]


async def test_the_cursor_steps_over_texts_and_tells_what_it_is_on() -> None:
    async with shown(Stage(lambda: DiffView(GROUPS), hear=(LineMessage,)), DiffView, (60, 12)) as (app, pilot, view):
        assert view.cursor_key == GROUPS[0].key
        await pilot.press(*"jjjjjj", "enter")
        assert view.cursor_key == GROUPS[2].lines[0].key
        await pilot.press(*"kkkkkk")
        told = [message.key for message in app.heard]
        down, up = ["retention", "policy", "b2", "dirs", "acls", "acl"], ["acls", "dirs", "b2", "policy", "retention"]
        assert told == ["orders", *down, "acl", *up, "orders"]


async def test_the_cursor_stays_on_its_change_when_others_settle() -> None:
    async with shown(Stage(lambda: DiffView(GROUPS)), DiffView, (60, 6)) as (app, pilot, view):
        view.move_cursor("dirs")
        view.set_groups(GROUPS[1:])
        await pilot.pause()
        assert (view.cursor_key, view.cursor_index) == ("dirs", 1)
        assert app.screen_lines()[1].startswith("▸✗")
        view.set_groups([])
        assert view.cursor_key is None


async def test_texts_are_wrapped_anew_in_another_width() -> None:
    async with shown(Stage(lambda: DiffView(GROUPS)), DiffView, (60, 12)) as (_, pilot, view):
        view.move_cursor("acl")
        await pilot.resize_terminal(120, 12)
        await pilot.pause()
        assert view.line_count() == 9
        assert view.cursor_key == "acl"
        assert view.index_of("acl") == 8


LONG = DiffGroup(
    "g",
    "topic orders",
    [DiffLine("k", "follower.throttled", "0:1,0:2,1:2 (topic)", "0:1,0:2,1:2,1:3 (topic)", below=[("why", "")])],
)


async def test_sides_that_do_not_fit_are_told_in_full_below_and_only_then() -> None:
    async with shown(Stage(lambda: DiffView([LONG])), DiffView, (60, 6)) as (app, pilot, view):
        lines = app.screen_lines()
        assert lines[1].startswith("     follower.throttled  0:1,0:2,1:2 (t…  →  0:1,0:2,1:2,1:…")
        assert lines[2:4] == ["        0:1,0:2,1:2 (topic) → 0:1,0:2,1:2,1:3 (topic)", "        why"]
        view.move_cursor("k")
        await pilot.resize_terminal(100, 6)
        await pilot.pause()
        assert app.screen_lines()[1:3] == [
            "▸    follower.throttled  0:1,0:2,1:2 (topic)  →  0:1,0:2,1:2,1:3 (topic)",
            "        why",
        ]
        assert view.index_of("k") == 1


async def test_a_long_change_takes_no_room_from_the_others() -> None:
    lines = [
        DiffLine("a", "max.message.bytes", "1048588 (default)", "2097152"),
        DiffLine("b", "compression.type", "x", "y" * 40),
        DiffLine("c", "segment.bytes", "1", "2"),
    ]
    app = Stage(lambda: DiffView([DiffGroup("g", "topic orders", lines)]))
    async with app.run_test(size=(60, 8)):
        assert app.screen_lines()[1] == "     max.message.bytes  1048588 (default)  →  2097152"
        assert app.screen_lines()[3] == f"        x → {'y' * 40}"


async def test_a_hundred_thousand_changes_open_at_once() -> None:
    lines = [DiffLine(number, f"key.{number}", "1", "2", below=[("!", "")] * (number % 2)) for number in range(100_000)]
    groups = [DiffGroup("one", "topic orders", lines)]
    async with shown(Stage(lambda: DiffView()), DiffView, (60, 12)) as (app, pilot, view):
        started = time.process_time()
        view.set_groups(groups)
        await pilot.press("G")
        assert time.process_time() - started < 2
        assert view.line_count() == 150_001
        assert view.cursor_key == 99_999
        assert app.screen_lines()[-2].startswith("▸")


texts = st.lists(
    st.tuples(st.sampled_from(["", "short", "a longer text that is wrapped at least once"]), st.just("")), max_size=2
)


@st.composite
def plans(draw: st.DrawFn) -> list[DiffGroup]:
    sizes = draw(st.lists(st.integers(0, 4), max_size=6))
    return [
        DiffGroup(f"g{number}", f"group {number}", [
            DiffLine(f"g{number}.{line}", "key", "old", "new", below=draw(texts)) for line in range(size)
        ])
        for number, size in enumerate(sizes)
    ]  # fmt: skip


@settings(max_examples=10)
@given(plans())
async def test_every_line_is_found_again_by_its_key(groups: list[DiffGroup]) -> None:
    app = Stage(lambda: DiffView(groups))
    async with app.run_test(size=(30, 100)):  # higher than the longest plan
        view = app.query_one(DiffView)
        keys = [view.key_at(index) for index in range(view.line_count()) if view.can_rest(index)]
        assert keys == [key for group in groups for key in (group.key, *(line.key for line in group.lines))]
        for index in range(view.line_count()):
            place = view.index_of(view.key_at(index))
            assert place is not None
            assert place <= index
            assert place == index or not any(view.can_rest(between) for between in range(place + 1, index + 1))
        shown = [line.strip("▸ ") for line in app.screen_lines() if line.strip("▸ ")]
        texts_below = sum(bool(text) for group in groups for line in group.lines for text, _ in line.below)
        assert len(shown) >= len(keys) + texts_below


LONG_NAMES = [
    DiffGroup(
        "user",
        "user team-of.many-words.production client reader.of-all.the-orders.of-them",
        [
            DiffLine("rate", "a.key/of-more.than_forty_characters:and.a.few.more", "1", "2", note="W"),
            DiffLine("acl", "+ allow User:bob READ on topic orders.of.many-words.and-more from *", arrow=False),
        ],
    )
]


async def test_names_are_folded_where_there_are_lines_to_spare() -> None:
    lines = [
        "▸  user team-of.many-words.production client",
        "   reader.of-all.the-orders.of-them",
        "     a.key/of-more.than_forty_characters:and.  1  →  2    W",
        "     a.few.more",
        "     + allow User:bob READ on topic",
        "     orders.of.many-words.and-more from *",
    ]
    app = Stage(lambda: DiffView(LONG_NAMES))
    async with app.run_test(size=(60, 12)) as pilot:
        assert app.screen_lines()[:6] == lines
        await pilot.press("down", "down")
        assert [line[0] for line in app.screen_lines()[:6]] == [" ", " ", " ", " ", "▸", " "]
    app = Stage(lambda: DiffView(LONG_NAMES))
    async with app.run_test(size=(60, 5)):
        cut = "     + allow User:bob READ on topic orders.of.many-words.an…"
        assert app.screen_lines() == [*lines[:4], cut]
    app = Stage(lambda: DiffView(LONG_NAMES))
    async with app.run_test(size=(60, 3)):
        assert app.screen_lines()[0] == "▸  user team-of.many-words.production client reader.of-all.…"
