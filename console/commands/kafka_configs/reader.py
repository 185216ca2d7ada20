"""Arguments as Kafka's own commands read them (joptsimple's OptionParser without abbreviations)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class UsageError(Exception):
    """The command line can't be meant so. The text is kafka-configs' own where it has one; `hint` is ours.

    usage: whether kafka-configs prints all of its options below the text.
    """

    def __init__(self, message: str, hint: str = "", usage: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name without dashes, whether a value follows, and how help shows that value."""

    name: str
    value: str = ""
    help: str = ""
    aliases: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """An option that was given: under which name it is listed, and its value (None where it takes none)."""

    name: str
    value: str | None
    spelled: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was given, in order, and the words that belong to no option."""

    given: tuple[Given, ...]
    words: tuple[str, ...] = ()

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(each.name in names for each in self.given)

    def values(self, name: str) -> tuple[str, ...]:
        """All values of an option, in order."""
        return tuple(each.value for each in self.given if each.name == name and each.value is not None)

    def value(self, name: str) -> str | None:
        """The only value of an option, None where it was not given. Raises UsageError where there are several."""
        found = self.values(name)
        if len(found) > 1:
            raise UsageError(f"Found multiple arguments for option {name}, but you asked for only one")
        return found[0] if found else None


def by_spelling(options: Sequence[Option]) -> dict[str, Option]:
    """Every name that an option goes by."""
    return {name: option for option in options for name in (option.name, *option.aliases)}


def read(argv: Sequence[str], options: Mapping[str, Option]) -> Arguments:
    """The arguments, by `by_spelling`. Raises UsageError for an option that there is not, or without its value.

    ``--name value``, ``--name=value``, with one dash too; a value is the next argument whatever it looks like; behind
    ``--`` there are only words.
    """
    given: list[Given] = []
    words: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
            break
        if len(argument) < 2 or not argument.startswith("-"):
            words.append(argument)
            continue
        long = argument.startswith("--")
        spelled, is_assigned, value = argument[2 if long else 1 :].partition("=")
        option = options.get(spelled)
        if option is None:
            raise _unknown(spelled if long else spelled[:1], spelled, options)
        if not option.value:
            given.append(Given(option.name, None, spelled))
        elif is_assigned:
            given.append(Given(option.name, value, spelled))
        else:
            following = next(rest, None)
            if following is None:
                raise UsageError(f"Option {spelled} requires an argument")
            given.append(Given(option.name, following, spelled))
    return Arguments(tuple(given), tuple(words))


def _unknown(said: str, spelled: str, options: Mapping[str, Option]) -> UsageError:
    from difflib import get_close_matches  # only where something is wrong

    near = get_close_matches(spelled, options, n=1)
    return UsageError(f"{said} is not a recognized option", f"did you mean --{near[0]}?" if near else "")
