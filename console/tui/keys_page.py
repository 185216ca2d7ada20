"""The page on the keys, from the keymap: ``python -m console.tui.keys_page > docs/keys.md``."""

from __future__ import annotations

from collections.abc import Iterator

from console.terminal import put
from console.tui.chrome import signs
from console.tui.help import COLUMNS, LETTERS, LINE, MOVES, QUESTIONS, STATES, TEXTS
from console.tui.keymap import (
    ACLS,
    BROKERS,
    CONFIGS,
    DRIFT,
    ENTITIES,
    EVERYWHERE,
    GROUP,
    GROUPS,
    HISTORY,
    KEYS,
    PLAN,
    QUOTAS,
    TOPIC,
    TOPICS,
    USAGE,
    Key,
)
from console.tui.panes import sort_columns

_VIEWS = (
    (EVERYWHERE, "Everywhere"),
    (BROKERS, "Brokers"),
    (TOPICS, "Topics"),
    (TOPIC, "The partitions of a topic"),
    (ENTITIES, "Everything that has configs"),
    (CONFIGS, "The configs of an entity"),
    (QUOTAS, "Quotas"),
    (ACLS, "ACLs"),
    (GROUPS, "Groups"),
    (GROUP, "The lag of a group"),
    (PLAN, "The plan"),
    (HISTORY, "History"),
    (DRIFT, "Drift"),
    (USAGE, "Usage"),
)
_INTRODUCTION = """\
# Keys

This page is made from the keymap (`python -m console.tui.keys_page`); do not edit it by hand. `?` shows the same for
the view that is open, with the reason where a key does nothing. Other keys can be given to an action by its name:

```toml
[settings.keys]
refresh = "f5"
quit = ["ctrl+q"]
```
"""


def keys_page() -> str:
    """The page, in Markdown."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield from _table("Moving", ((f"`{keys}`", text, "") for keys, text in MOVES))
    for view, title in _VIEWS:
        rows = [(f"`{signs(key.keys)}`", _sentence(key), f"`{key.id}`") for key in KEYS if view in key.where]
        if rows:
            yield from _table(title, iter(rows))
    yield from _table("Sorting: once more turns it round, a third time ends it", iter(_sorting()))
    for title, legend in (
        ("A line that is typed: commands, filters, names", LINE),
        ("Questions", QUESTIONS),
        ("Texts: details, help, answers", TEXTS),
        ("Letters in front of a row", LETTERS),
        ("Columns", COLUMNS),
        ("In the header", STATES),
    ):
        yield from _table(title, ((f"`{letters}`", text, "") for letters, text in legend))


def _sorting() -> Iterator[tuple[str, str, str]]:
    """The keys that sort, view by view."""
    for view, title in _VIEWS[1:]:
        columns = sort_columns(view)
        if columns:
            yield ", ".join(f"`{column.sort_key}` {column.label.lower()}" for column in columns), title, ""


def _sentence(key: Key) -> str:
    return key.help.replace("|", "\\|")


def _table(title: str, rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    listed = list(rows)
    named = any(action for _, _, action in listed)
    yield f"## {title}\n"
    yield "| key | does | action |\n|---|---|---|" if named else "| | |\n|---|---|"
    for keys, text, action in listed:
        yield f"| {keys} | {text} | {action} |" if named else f"| {keys} | {text} |"
    yield ""


if __name__ == "__main__":
    put(keys_page())
