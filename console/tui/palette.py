"""The palette: every action of the view by its name, found by typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console.tui.chrome import signs
from console.tui.keymap import Key
from widgets.bar_lines import Candidate


def candidates(keys: Iterable[Key], text: str, reason: Callable[[Key], str]) -> Sequence[Candidate]:
    """The actions whose name or help holds every word of the text, those that begin with it first; what does not work
    now says why."""
    words = text.lower().split()
    found = [key for key in keys if all(word in f"{key.id} {key.label} {key.help}".lower() for word in words)]
    found.sort(key=lambda key: (bool(reason(key)), not key.label.startswith(text.lower())))
    return [Candidate(0, len(text), key.label, key.label, signs(key.keys), reason(key) or key.help) for key in found]


def chosen(keys: Sequence[Key], text: str, reason: Callable[[Key], str]) -> Key | None:
    """The action of that label, else the first that is found; None where nothing is."""
    exact = next((key for key in keys if key.label == text.strip()), None)
    if exact is not None:
        return exact
    first = next(iter(candidates(keys, text, reason)), None)
    return None if first is None else next(key for key in keys if key.label == first.text)
