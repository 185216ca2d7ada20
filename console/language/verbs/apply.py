"""``apply``: checks the plan, asks for confirmation and sends it."""

from __future__ import annotations

from console.language.reader import Expected, Reader, Role, What
from console.language.statements import Statement, joined
from console.language.verb import PLAN, StatementKind, Verb
from console.plan.risk_rules import NAMES, accepted

ACCEPT = "--accept"


class Apply(Statement, frozen=True):
    """The statement ``apply``, which sends the plan."""

    yes: bool = False
    """Whether to skip the confirmation."""
    valid_only: bool = False
    force: bool = False
    """Whether to overwrite changes that other clients made since the edits were staged."""
    accept: tuple[str, ...] = ()
    """The warnings that are accepted, by name or as NAME=SUBJECT."""


def _parse(reader: Reader) -> Apply:
    flags = {"--yes": False, "--valid-only": False, "--force": False, ACCEPT: False}
    accept: tuple[str, ...] = ()
    while True:
        left = tuple(flag for flag, given in flags.items() if not given)
        flag = reader.take_keyword(*left, role=Role.FLAG) if left else None
        if flag is None:
            return Apply(yes=flags["--yes"], valid_only=flags["--valid-only"], force=flags["--force"], accept=accept)
        flags[flag] = True
        if flag == ACCEPT:
            accept = _warnings(reader)


def _warnings(reader: Reader) -> tuple[str, ...]:
    """Read the names of accepted warnings in one word, separated by commas; NAME=SUBJECT for a warning that has to be
    confirmed by typing its subject. Raises ParseError.
    """
    word = reader.take(Expected(What.WORDS, "NAMEs of warnings", NAMES), Role.VALUE)
    names = accepted(word.text)
    for name in names:
        if name.partition("=")[0] not in NAMES:
            reader.fail(f"unknown warning {reader.shown(word)}", word, f"there are {', '.join(NAMES)}")
    return names


def _text(statement: Apply) -> str:
    given = {"--yes": statement.yes, "--valid-only": statement.valid_only, "--force": statement.force}
    accept = f"{ACCEPT} {','.join(statement.accept)}" if statement.accept else ""
    return joined("apply", *(flag for flag, on in given.items() if on), accept)


VERBS = (
    Verb(
        "apply",
        PLAN,
        ("apply [--yes] [--valid-only] [--force] [--accept NAME[=SUBJECT]{,NAME[=SUBJECT]}]",),
        "Check the plan, ask, and send it",
        "If a check fails, kac sends nothing. With --valid-only kac sends the edits that pass. With --yes kac "
        "does not ask. kac first writes every change into a journal, with a number for `revert`.\n\n"
        "Right before kac sends the plan, it reads the plan's entities again. If another client has changed a "
        "value, kac stops and shows the former value, the other client's value and yours. With --force kac "
        "overwrites the other client's values, and lists the overwritten values.\n\n"
        "An edit that is valid but probably wrong has a named warning. You accept the warning with --accept NAME, "
        "also if you give --yes. If the console would ask you to type a subject, add the subject: `--accept "
        "unclean-loss=orders/3`. docs/trust.md has the condition of each warning.\n\n"
        f"The warnings are: {', '.join(NAMES)}.",
        ("apply --yes", "apply --yes --valid-only", "apply --yes --force"),
        takes_away=True,
        rank=3,
        parse=_parse,
        statements=(StatementKind(statement=Apply, text=_text),),
    ),
)
