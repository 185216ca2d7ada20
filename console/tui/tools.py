"""What the panes use of the console."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from console.language.errors import LanguageError
    from console.language.statements import Statement
    from console.tui.editing import Editing
    from console.tui.navigator import Navigator
    from console.tui.operating import Operating
    from console.tui.past import Journal, OpenLake
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster


class Tools(NamedTuple):
    """What each pane is created with; it takes what it needs."""

    cluster: ShownCluster
    """The session that is shown, and how the cluster answers."""
    navigator: Navigator
    """Shows other panes."""
    editing: Editing
    """Stages edits, or begins their commands in the bar."""
    message: MessageLine
    """Shows a line to the operator."""
    journal: Journal
    """This host's journal, and the events since the console began."""
    lake: OpenLake
    operating: Callable[[], Operating]
    """Returns what begins operations: it is created when it is first used."""
    execute: Callable[[Sequence[Statement]], Awaitable[LanguageError | None]]
    """Carries out commands, and returns an error of the language, None if all are carried out."""
