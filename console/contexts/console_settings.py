"""The table ``[settings]`` of kac's own file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from console.terminal import THEMES

PANES = (
    "brokers",
    "topics",
    "configs",
    "quotas",
    "acls",
    "groups",
    "plan",
    "history",
    "drift",
    "usage",
    "now",
    "events",
)
EDITING_MODES = ("emacs", "vi")
SHORTEST_REFRESH = 1.0
LONGEST_REFRESH = 3600.0


class KeyRemap(Struct, frozen=True):
    """Keys for one action, by Textual's names (``ctrl+r``)."""

    keys: tuple[str, ...]
    place: str
    """The place (``file:line``) that sets the keys, for messages."""


class ConsoleSettings(Struct, frozen=True):
    """The settings of the screen and the shell."""

    start_pane: str = "now"
    """The pane that the screen opens first; one of `PANES`."""
    theme: str | None = None
    """One of `THEMES`; None to follow the terminal's background."""
    refresh: float = 5.0
    """The seconds between two reads of the cluster; 0 to read only on request."""
    mouse: bool = True
    editing_mode: str = "emacs"
    """The editing mode of the command bar and the shell: ``emacs`` or ``vi``."""
    accessible: bool = False
    """Whether the console prints lines instead of drawing a screen."""
    slow_link: bool = False
    """Whether sentences replace graphs, because drawn graphs send output with each read."""
    keys: Mapping[str, KeyRemap] = field(default_factory=dict)
    """Action -> the keys that replace its default keys. Unknown actions are not rejected here."""
    watch: str = ""
    """The set of subjects that the screen watches from the start, as with ``--watch``; ``""`` for none."""


THEME_VARIABLE = "KAC_THEME"


def with_theme(settings: ConsoleSettings, environ: Mapping[str, str], given: str | None) -> tuple[ConsoleSettings, str]:
    """Return the settings with the theme that ``--theme`` (`given`) names, else the one that ``KAC_THEME`` names; and
    the problem with that name, ``""`` if there is none. If neither names a theme, the settings are unchanged.
    """
    wanted = given or environ.get(THEME_VARIABLE) or None
    if wanted is None:
        return settings, ""
    if wanted not in THEMES:
        return settings, f"{'--theme' if given else THEME_VARIABLE} is one of {', '.join(THEMES)}, not {wanted!r}"
    return replace(settings, theme=wanted), ""


Where = Callable[..., str]
"""Returns the place, ``file:line``, of the key with this path below ``[settings]``."""


def read_settings(table: Mapping[str, Any], where: Where) -> tuple[ConsoleSettings, tuple[str, ...]]:
    """Return the settings, and a line for each key that is unknown or has an invalid value. Such a key has no
    effect.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        try:
            if key not in _READERS:
                raise ValueError(unknown_key(key, tuple(_READERS)))
            values[key] = _READERS[key](value, where)
        except ValueError as error:
            problems.append(f"{where(key)}: {error}")
    return ConsoleSettings(**values), tuple(problems)


def near_key(key: str, legal: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the legal key that is most similar to `key`, ignoring separators and upper case (``bootstrap_servers``,
    ``readOnly``); None if none is similar. cutoff: the minimum similarity, 0 to 1.
    """
    from difflib import get_close_matches

    by_letters = {re.sub("[-_.]", "", each).lower(): each for each in legal}
    near = get_close_matches(re.sub("[-_.]", "", key[:200]).lower(), by_letters, n=1, cutoff=cutoff)
    return by_letters[near[0]] if near else None


def unknown_key(key: str, legal: tuple[str, ...]) -> str:
    """Return the message for an unknown key. The message names the most similar legal key. If no legal key is
    similar, it lists all legal keys, unless there are ten or more.
    """
    near = near_key(key, legal)
    if near:
        return f"there is no key {key!r}; did you mean {near}?"
    return f"there is no key {key!r}" + (f"; there are {', '.join(legal)}" if len(legal) < 10 else "")


def _one_of(name: str, legal: tuple[str, ...]) -> Callable[[Any, Where], str]:
    def read(value: Any, _where: Where) -> str:
        if value not in legal:
            raise ValueError(f"{name} is one of {', '.join(legal)}, not {value!r}")
        return str(value)

    return read


def _seconds(value: Any, _where: Where) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"refresh is a number of seconds, not {value!r}")
    if value != 0 and not SHORTEST_REFRESH <= value <= LONGEST_REFRESH:
        raise ValueError(f"refresh is 0, or from {SHORTEST_REFRESH:g} to {LONGEST_REFRESH:g} seconds, not {value!r}")
    return float(value)


def _switch(name: str) -> Callable[[Any, Where], bool]:
    def read(value: Any, _where: Where) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name} is true or false, not {value!r}")
        return value

    return read


def _keys(value: Any, where: Where) -> Mapping[str, KeyRemap]:
    if not isinstance(value, dict):
        raise ValueError('keys is a table of action = "key", or action = ["key", "key"]')
    remaps: dict[str, KeyRemap] = {}
    for action, keys in value.items():
        listed = [keys] if isinstance(keys, str) else keys
        if not isinstance(listed, list) or not listed or not all(isinstance(key, str) and key for key in listed):
            raise ValueError(f'the keys of {action!r} are a text or a list of texts, as "ctrl+r", not {keys!r}')
        remaps[action] = KeyRemap(tuple(listed), where("keys", action))
    return remaps


_READERS: Mapping[str, Callable[[Any, Where], Any]] = {
    "start_pane": _one_of("start_pane", PANES),
    "theme": _one_of("theme", THEMES),
    "refresh": _seconds,
    "mouse": _switch("mouse"),
    "editing_mode": _one_of("editing_mode", EDITING_MODES),
    "accessible": _switch("accessible"),
    "slow_link": _switch("slow_link"),
    "keys": _keys,
}
