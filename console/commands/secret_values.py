"""Secrets: which keys are, which a statement needs, and how one is read from a file. None is ever repeated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from console.commands.errors import CommandError
from console.commands.statements import Alter, Assign, Create, FromFile, ScramSet, SecretSource, Statement
from console.commands.unparse import subject_text
from console.commands.words import NOWHERE, Span
from console.language.quoting import quote_beside_equals
from console.language.sensitive import looks_sensitive
from console.model.codes import BROKER
from console.model.config import ConfigEntry, ConfigResource
from console.model.secret import Secret
from console.present.text import clean

FILE_LIMIT = 1 << 20
"""Bytes of a secret's file; a config value has at most 32,767 characters."""


class SecretSlot(NamedTuple):
    """A secret that a statement needs. key: by which `to_edits` looks it up; prompt: what to ask for it with."""

    key: str
    prompt: str
    source: SecretSource
    span: Span = NOWHERE


def secret_slots(statement: Statement) -> tuple[SecretSlot, ...]:
    """The secrets of a statement, in order."""
    match statement:
        case Alter():
            about = f"{subject_text(statement.entity.subject)} " if statement.entity else ""
            return _slots(statement.assigns, about)
        case Create():
            return _slots(statement.configs, f"topic {statement.name.text} ")
        case ScramSet():
            prompt = f"{statement.mechanism.label} password of {statement.user}"
            return (SecretSlot("password", clean(prompt, 120), statement.password, statement.span),)
        case _:
            return ()


def _slots(assigns: tuple[Assign, ...], about: str) -> tuple[SecretSlot, ...]:
    return tuple(
        SecretSlot(assign.key.name, clean(f"{about}{assign.key.name}", 120), assign.value, assign.span)
        for assign in assigns
        if not isinstance(assign.value, str)
    )


async def resolve_secrets(statement: Statement, ask: Callable[[SecretSlot], Awaitable[Secret]]) -> dict[str, Secret]:
    """Key -> secret, from files and by asking. Raises CommandError for a file that can't be read, and as `ask`."""
    return {
        slot.key: read_secret_file(slot.source, slot.span) if isinstance(slot.source, FromFile) else await ask(slot)
        for slot in secret_slots(statement)
    }


def nobody_to_ask(slot: SecretSlot) -> CommandError:
    """Where there is no terminal."""
    hint = f"write {quote_beside_equals(slot.key)}=@FILE"
    return CommandError(f"{slot.prompt}: there is no terminal to ask on", hint, slot.span)


def read_secret_file(source: FromFile, span: Span | None = None) -> Secret:
    """The file's text, less one newline at its end. Raises CommandError where it can't be read."""
    path = Path(source.path)
    shown = f"'{clean(source.path, 200)}'"
    try:
        with path.expanduser().open("rb") as file:
            content = file.read(FILE_LIMIT + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
        raise CommandError(f"the secret in {shown} can't be read: {why}", "", span) from None
    if len(content) > FILE_LIMIT:
        raise CommandError(f"the secret in {shown} is too long: more than {FILE_LIMIT:,} bytes", "", span)
    return Secret(text.removesuffix("\n").removesuffix("\r"))


def is_sensitive(target: ConfigResource, key: str, entry: ConfigEntry | None) -> bool:
    """Whether a key's value is a secret: as the broker says, else by its name.

    A broker hides the value of a key that it does not know (DescribeConfigs: sensitive = PASSWORD or unknown).
    """
    if entry is not None:
        return entry.sensitive
    return looks_sensitive(key) or target.type == BROKER
