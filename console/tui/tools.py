"""The objects of the console that panes use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from console.contexts.configured import Choice
    from console.language.errors import LanguageError
    from console.language.statements import Statement
    from console.tui.editing import Editing
    from console.tui.navigator import Navigator
    from console.tui.operating import Operating
    from console.tui.past import Journal, OpenLake
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster


class Tools(NamedTuple):
    """The objects that each pane gets at its creation; it uses those that it needs."""

    cluster: ShownCluster
    """The visible session, its reads and its contact with the cluster."""
    navigator: Navigator
    """Shows other panes."""
    editing: Editing
    """Stages edits, or opens the command bar with commands that do."""
    message: MessageLine
    """The message line."""
    journal: Journal
    """This host's journal, and the events since the console began."""
    lake: OpenLake
    contexts: Choice
    """The contexts that the operator can switch to."""
    operating: Callable[[], Operating]
    """Returns the runner of operations, created on first use."""
    execute: Callable[[Sequence[Statement]], Awaitable[LanguageError | None]]
    """Executes commands. Returns the error if a command has a mistake in the language, else None."""
    look_back: Callable[[datetime], Awaitable[None]]
    """Replays the record in memory from a time of the last half hour on."""
