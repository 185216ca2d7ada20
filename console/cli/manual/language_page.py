"""Writes docs/commands.md from the registry of verbs: ``python -m console.cli.manual.language_page``."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.interpret import OPERATIONS_OF
from console.language.verbs import ENTITY_USAGE, EVERYWHERE, KINDS, VERBS, Verb
from console.model.quota import CLIENT_KEYS, IP_KEYS
from console.present.columns import COLUMNS
from console.terminal import put

_INTRODUCTION = """\
# Commands

One language for the command bar (`:`), `kac run` and script files. This page is made from the registry of verbs
(`python -m console.cli.manual.language_page`); do not edit it by hand.

A script is statements parted by `;` or line ends. It is parsed whole before anything runs: a mistake names its line and
column, and nothing was done. A `#` at the start of a statement makes the rest of its line a comment.

A word is written bare, in `'single quotes'` (as it stands), in `"double quotes"` (with `\\"`, `\\\\`, `\\n`, `\\t`,
`\\r` and `\\u{HEX}`), or in several of these side by side. Keywords are written bare. `KEY=VALUE` is one word, split at
its first unquoted `=`; commas and brackets are data.
"""

_ENTITIES = """\
The word after an entity's keyword is always its name, however it is spelled. Only a wholly unquoted `<default>` is the
default; `'<default>'` is a name. In the command bar the entity may be left out, for the one selected; a key that is
spelled like an entity's keyword is then quoted.
"""

_VALUES = """\
- Units, where the key's name or type tells what it counts: `10MB` is 10,000,000, `10MiB` is 10,485,760; `7d`, `12h`,
  `30min`, `90s`, `250ms`; rates may end in `/s`. The result has to be exact. Everywhere else the text is the value.
- `KEY=` is the empty value.
- A sensitive value is `KEY=@FILE` or `KEY=?` (asked for, hidden), never written out.
"""


def reference() -> str:
    """The page, in Markdown."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield "## Entities\n"
    yield from (f"- `{usage}`" for usage in ENTITY_USAGE)
    yield f"\n{_ENTITIES}"
    yield f"## Values\n\n{_VALUES}"
    group = ""
    for verb in VERBS.values():
        if verb.group != group:
            group = verb.group
            yield f"## {group}\n"
        yield from _verb(verb)
    yield "## What list can be filtered by\n"
    yield from (f"- `{kind}`: {_codes(COLUMNS[kind])}" for kind in KINDS)
    yield "\n## Quotas\n"
    yield f"- users and clients: {_codes(CLIENT_KEYS)}"
    yield f"- ips: {_codes(IP_KEYS)}"
    yield "\n## Operations of ACLs\n"
    for type_, operations in OPERATIONS_OF.items():
        yield f"- {type_.name.lower().replace('_', '-')}: {_codes(operations)}"
    yield "\n## Exit codes of `kac run`\n"
    yield "| code | meaning |\n|---|---|"
    yield "| 0 | all was applied, or there was nothing to apply |"
    yield "| 1 | something failed; the rest is reported all the same |"
    yield "| 2 | the script or the command line was not understood, and nothing was done |"
    yield "| 3 | edits were staged and left unapplied at the end |"


def _verb(verb: Verb) -> Iterator[str]:
    yield f"### {verb.name}\n"
    where = "" if verb.where == EVERYWHERE else " In the console and the shell only."
    yield f"{verb.summary}.{where}\n"
    yield "```"
    yield from verb.usage
    yield "```\n"
    if verb.about:
        yield f"{verb.about}\n"
    if verb.examples:
        yield "For example:\n\n```"
        yield from verb.examples
        yield "```\n"


def _codes(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


if __name__ == "__main__":
    put(reference())
