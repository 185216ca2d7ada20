"""`kac groups`, `share-groups` and `streams-groups`, with the usual options of Kafka's tools for groups."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from console.cli import noun
from console.cli import noun as nouns
from console.language.quoting import quote, quote_pattern
from console.model.numbers import LONG_MAX, LONG_MIN, natural_number, option, whole_number

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.cluster import Group
    from console.plan.edits import Edit
    from console.session.snapshot_reader import Client

LIST, DESCRIBE, ALTER = "list", "describe", "alter"
DELETE, RESET, DELETE_OFFSETS = "delete", "reset-offsets", "delete-offsets"


class Kind(NamedTuple):
    """A kind of groups with a command of its own, such as consumer groups."""

    name: str
    knows: Callable[[Group], bool]
    """Returns whether a group is of this kind."""
    topic: str = "topic"
    """The name of the option for a topic that the groups read."""


CONSUMERS = Kind(
    "consumer",
    lambda group: group.type == "consumer" or (group.type == "classic" and group.protocol in ("", "consumer")),
)
"""The kind of consumer groups, which includes groups that only store offsets."""
SHARE = Kind("share", lambda group: group.type == "share")
STREAMS = Kind("streams", lambda group: group.type == "streams", topic="input-topic")

STATES = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "NotReady",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)
TYPES = ("classic", "consumer", "share", "streams")

# -- options -----------------------------------------------------------------------------------------------------------


def _options(kind: Kind, parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--group", metavar="NAME", action="append", default=[], help="the group's name; may be repeated")
    add("--all-groups", action="store_true", help=f"every {kind.name} group")
    add(
        "--state",
        metavar="STATE",
        nargs="?",
        const="",
        help="with --list: only groups in this state; with --describe: the state",
    )
    if kind is CONSUMERS:
        add("--type", metavar="TYPE", nargs="?", const="", help=f"with --list: only of this type: {', '.join(TYPES)}")
    add("--members", action="store_true", help="with --describe: only the members")
    add("--offsets", action="store_true", help="with --describe: only the offsets")
    if kind is CONSUMERS:
        nouns.add_config_options(parser, "configs")
    _add_offsets(parser, kind)


def _add_offsets(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """Add the options that choose the offsets to reset or delete, and those for the new positions; share groups support
    three of the eight kinds of positions.
    """
    add = parser.add_argument_group("with --reset-offsets and --delete-offsets").add_argument
    topic = f"{'an input' if kind is STREAMS else 'a'} topic, or some of its partitions"
    add(f"--{kind.topic}", metavar="NAME[:P,P]", action="append", default=[], help=topic)
    add(f"--all-{kind.topic}s", action="store_true", help="all partitions for which the group has an offset")
    add("--to-earliest", action="store_true", help="to the first record")
    add("--to-latest", action="store_true", help="to the end")
    add("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="to the first record of that time or later, in UTC")
    if kind is not SHARE:
        add("--to-current", action="store_true", help="to the group's present offset; to the end if it has no offset")
        add("--to-offset", metavar="N", type=option(natural_number), help="to this offset")
        shift = option(whole_number, LONG_MIN, LONG_MAX)
        add("--shift-by", metavar="N", type=shift, help="so many records forward, or back with a minus")
        add(
            "--by-duration",
            metavar="PnDTnHnMnS",
            help="to the first record that is not older than a duration such as PT1H30M",
        )
        add(
            "--from-file", metavar="FILE", help="to the offsets in a file as --export writes it: topic,partition,offset"
        )
        add("--export", action="store_true", help="print the new offsets as CSV, which --from-file takes")
    add("--dry-run", action="store_true", help="show what would change (the default without --execute)")
    add("--execute", action="store_true", help="reset the offsets")


_ELSEWHERE = {
    "--verbose": "--describe --output json has the epochs and assignments",
    "--timeout": "kac has limits of its own, so leave it out",
}
"""Options of Kafka's tools for groups that kac does not need -> what to use instead."""

# -- the meaning of the options ----------------------------------------------------------------------------------------


def _meaning(kind: Kind, given: argparse.Namespace, action: str) -> noun.Statements | noun.Carry:
    match action:
        case "list":
            return _listed(kind, given)
        case "describe":
            return _described(kind, given)
        case "alter":
            if len(given.group) != 1:
                raise noun.OptionsError("--alter needs one --group")
            return nouns.alteration(f"group {quote(given.group[0])}", given)
        case "reset-offsets":
            return _reset(kind, given)
    if action == DELETE_OFFSETS or (kind is CONSUMERS and given.topic):
        clauses = _clauses(kind, given)
        if not (given.group and clauses):
            raise noun.OptionsError(f"--{action} needs --group and --{kind.topic}")
        names = tuple(given.group)
        return _of_each(kind, names, lambda name: [f"delete group {quote(name)}{clause}" for clause in clauses])
    return _of_each(kind, _names(given, action), lambda name: [f"delete group {quote(name)}"])


def _names(given: argparse.Namespace, action: str) -> tuple[str, ...]:
    """Return the named groups, without duplicates; empty for --all-groups. Raises OptionsError: neither or both of
    --group and --all-groups are given.
    """
    if bool(given.group) == given.all_groups:
        raise noun.OptionsError(f"--{action} needs --group NAME or --all-groups")
    return tuple(dict.fromkeys(given.group))


def _listed(kind: Kind, given: argparse.Namespace) -> noun.Statements:
    states = _filters("state", STATES, given.state)
    types = _filters("type", TYPES, given.type) if kind is CONSUMERS else [f" type={kind.name}"]
    return tuple(f"list groups{state}{type_}" for state in states for type_ in types)


def _filters(name: str, known: Sequence[str], text: str | None) -> list[str]:
    """Return the filters of a `list` statement for a text like ``Empty,Stable``, each with a space in front:
    ``state=Empty``, ``state=Stable``. For an empty text or None, return one empty filter.

    Args:
        name: the name of the filter.
        known: the valid values.

    Raises:
        OptionsError: a value is unknown.
    """
    spelled = {each.lower(): each for each in known}
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word.lower() not in spelled:
            raise noun.OptionsError(f"there is no {name} '{word[:80]}': {', '.join(known)}")
    return [f" {name}={quote_pattern(spelled[word.lower()])}" for word in words] or [""]


def _described(kind: Kind, given: argparse.Namespace) -> noun.Statements | noun.Carry:
    names = _names(given, DESCRIBE)
    chosen = {"members": given.members, "partitions": given.offsets, "": given.state is not None}
    if given.state:
        raise noun.OptionsError("--state takes no value with --describe")
    parts = frozenset(part for part, is_chosen in chosen.items() if is_chosen) or None
    # Named groups need no look at the cluster first, unless the answers are limited to some parts.
    if names and parts is None:
        return tuple(f"describe group {quote(name)}" for name in names)

    async def carry(client: Client, context: Context) -> noun.Answers | noun.Found:
        from console.language.grammar import parse

        found = names or await _known(client, context, kind)
        if not found:
            return _none(kind)
        return noun.Answers(parse("\n".join(f"describe group {quote(name)}" for name in found)), parts)

    return carry


def _of_each(
    kind: Kind,
    names: tuple[str, ...],
    texts: Callable[[str], Iterable[str]],
    *,
    to: Literal["apply", "show"] = "apply",
    lines: Callable[[Sequence[Edit]], Iterable[str]] | None = None,
) -> noun.Statements | noun.Carry:
    """Return the statements for each of these groups. If the cluster has to be read first, return the function that
    reads it and then returns the statements.

    Args:
        names: the names of the groups; empty for all groups of the kind. Named share and streams groups are looked up,
            and refused if they are of another kind.
        texts: returns the statements for the name of a group.
        to, lines: see `Change`.
    """
    if names and kind is CONSUMERS and to == "apply":
        return tuple(text for name in names for text in texts(name))

    async def carry(client: Client, context: Context) -> noun.Change | noun.Found:
        found = names if names and kind is CONSUMERS else await _known(client, context, kind, names)
        if not found:
            return _none(kind)
        return noun.Change(tuple(text for name in found for text in texts(name)), to, lines)

    return carry


def _none(kind: Kind) -> noun.Found:
    from console.answers.results import Table

    return noun.Found([Table("groups", (), (), empty=f"no {kind.name} groups")])


async def _known(client: Client, context: Context, kind: Kind, names: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return these names; if empty, the names of all groups of the kind, sorted.

    Raises:
        OptionsError: a named group is of another kind.
        CommandError: no names are given, and not all groups could be listed.
    """
    from console.admin.groups import list_groups
    from console.language.errors import CommandError
    from console.present.failures import failure_text
    from console.session.snapshot_reader import SnapshotReader

    listing = await client.run(list_groups)
    for name in names:
        if (group := listing.groups.get(name)) is not None and not kind.knows(group):
            raise noun.OptionsError(f"group '{name}' is no {kind.name} group: its type is {group.type}")
    failures = listing.failures
    if not listing.groups and not failures:
        failures = await SnapshotReader(client, context).why_no_groups()
    if failures and not names:
        who, failure = next(iter(failures.items()))
        why = f"{who or 'groups'}: {failure_text(failure)}"
        raise CommandError(f"not all groups are known, so nothing was done: {why}", "name them with --group")
    return names or tuple(sorted(group.name for group in listing.groups.values() if kind.knows(group)))


# -- offsets -----------------------------------------------------------------------------------------------------------


def _reset(kind: Kind, given: argparse.Namespace) -> noun.Statements | noun.Carry:
    names = _names(given, RESET)
    places = [(name, getattr(given, name, None)) for name in _PLACES]
    targets = [(name, value) for name, value in places if value not in (None, False)]
    if len(targets) != 1:
        ways = ", ".join(f"--{name.replace('_', '-')}" for name, _ in places if hasattr(given, name))
        raise noun.OptionsError(f"--reset-offsets needs one of {ways}")
    ((target, value),) = targets
    clauses, every = _clauses(kind, given), getattr(given, f"all_{kind.topic}s".replace("-", "_"))
    if (bool(clauses) + every > 1) or not (clauses or every or target == "from_file"):
        raise noun.OptionsError(f"--reset-offsets needs --{kind.topic} or --all-{kind.topic}s")
    if target == "from_file" and len(names) != 1:
        _check_file(value)
    dry, export = given.dry_run, bool(getattr(given, "export", False))
    if given.execute and (dry or export):
        raise noun.OptionsError("--execute changes offsets, --dry-run and --export only show them: give one of them")
    place = _PLACES[target](value)
    word = "share " if kind is SHARE else ""
    return _of_each(
        kind,
        names,
        lambda name: [f"reset {word}group {quote(name)}{clause} to {place}" for clause in clauses or [""]],
        to="apply" if given.execute else "show",
        lines=partial(_exported, with_group=len(names) != 1) if export else None,
    )


def _clauses(kind: Kind, given: argparse.Namespace) -> list[str]:
    """Return the topics and partitions in the options (``T`` or ``T:0,1``) as clauses of the language, each with a
    space in front: ``topic T partition 0``. Raises OptionsError: an option has another form.
    """
    found: list[str] = []
    for text in getattr(given, kind.topic.replace("-", "_")):
        topic, colon, numbers = text.partition(":")
        if not topic or (colon and not numbers):
            raise noun.OptionsError(f"'{text[:80]}' is no topic with partitions, as orders or orders:0,1")
        of = [f" partition {quote(number)}" for number in numbers.split(",")] if colon else [""]
        found += [f" topic {quote(topic)}{part}" for part in of]
    return found


def _check_file(path: str) -> None:
    """Raise OptionsError for a CSV file without a column of groups: its rows would be applied to each of several
    groups.
    """
    from console.language.offset_files import read_text

    if read_text(path).partition("\n")[0].count(",") == 2:
        raise noun.OptionsError("several groups need a file with them: group,topic,partition,offset")


def _exported(edits: Sequence[Edit], *, with_group: bool) -> list[str]:
    from console.language.offset_files import offset_lines
    from console.plan.edits import CommitOffset

    return offset_lines((edit for edit in edits if isinstance(edit, CommitOffset)), with_group=with_group)


def _at(text: str) -> str:
    """Return the time of --to-datetime in the language's form; a time without a zone is in UTC. Raises OptionsError."""
    try:
        moment = datetime.fromisoformat(text)
        return _time(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise noun.OptionsError(f"--to-datetime is YYYY-MM-DDThh:mm:ss.sss, not '{text[:80]}'") from None


_DURATION = re.compile(
    r"P(?:(\d{1,6})D)?(T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?", re.IGNORECASE
)


def _ago(text: str) -> str:
    """Return the time that lies a duration (as ``P1DT2H30M``) before now, in the language's form. Raises
    OptionsError.
    """
    found = _DURATION.fullmatch(text)
    days, with_time, *times = found.groups() if found is not None else ("", "", "", "", "")
    if not (days or any(times)) or with_time in ("T", "t"):
        raise noun.OptionsError(f"--by-duration is PnDTnHnMnS, as PT1H30M, not '{text[:80]}'")
    hours, minutes, seconds = (float(each or 0) for each in times)
    return _time(datetime.now(UTC) - timedelta(int(days or 0), seconds, 0, 0, minutes, hours))


def _time(at: datetime) -> str:
    return f"time {at.astimezone(UTC).isoformat(timespec='milliseconds').replace('+00:00', 'Z')}"


_PLACES: Mapping[str, Callable[[Any], str]] = {
    "to_earliest": lambda _: "earliest",
    "to_latest": lambda _: "latest",
    "to_current": lambda _: "current",
    "to_offset": lambda offset: f"offset {offset}",
    "shift_by": lambda steps: f"by {steps:+}",
    "to_datetime": _at,
    "by_duration": _ago,
    "from_file": lambda path: f"file {quote(path)}",
}
"""Name of an option for the new position -> a function that returns its value as a position in the language."""


# -- the nouns ---------------------------------------------------------------------------------------------------------

_EXAMPLES = """\
examples:
  kac groups -b broker1:9092 --list --state Stable
  kac groups -c prod --describe --group billing
  kac groups -c prod --describe --all-groups --members --output json
  kac groups -c prod --alter --group billing --add-config consumer.session.timeout.ms=50s
  kac groups -c prod --reset-offsets --group billing --topic orders:0,1 --to-datetime 2026-01-31T08:00:00.000
  kac groups -c prod --reset-offsets --group billing --all-topics --shift-by -100 --execute
  kac groups -c prod --delete --group billing --yes
"""

_SHARE_EXAMPLES = """\
examples:
  kac share-groups -b broker1:9092 --list --state Empty
  kac share-groups -c prod --describe --group refund-workers
  kac share-groups -c prod --reset-offsets --group refund-workers --topic refunds --to-earliest --execute
  kac share-groups -c prod --delete-offsets --group refund-workers --topic refunds --yes
"""

_STREAMS_EXAMPLES = """\
examples:
  kac streams-groups -b broker1:9092 --list --state NotReady
  kac streams-groups -c prod --describe --group fraud-scores --output json
  kac streams-groups -c prod --reset-offsets --group fraud-scores --input-topic payments --to-earliest --execute
  kac streams-groups -c prod --delete --group fraud-scores --yes
"""


def _noun(kind: Kind, name: str, described: str, deleted: str, examples: str) -> noun.Noun:
    """Return the command for one kind of groups.

    Args:
        name: the command's name.
        described, deleted: the help texts of --describe and --delete.
        examples: the examples at the end of the help.
    """
    offsets = "start offsets" if kind is SHARE else "offsets"
    configs = {ALTER: "set or remove configs"} if kind is CONSUMERS else {}
    what = "groups" if kind is CONSUMERS else f"{kind.name} groups"
    return noun.Noun(
        name,
        {
            LIST: f"the {what} with their states",
            DESCRIBE: described,
            **configs,
            RESET: f"show other {offsets} for a group without members, or set them with --execute",
            DELETE: deleted,
            DELETE_OFFSETS: f"delete a group's offsets of {'an input' if kind is STREAMS else 'a'} topic",
        },
        partial(_options, kind),
        partial(_meaning, kind),
        examples,
        destructive=(DELETE, DELETE_OFFSETS),
        elsewhere=_ELSEWHERE,
    )


GROUPS = _noun(
    CONSUMERS,
    "groups",
    "a group's members and its lag",
    "delete groups without members; with --topic only offsets",
    _EXAMPLES,
)
SHARE_GROUPS = _noun(
    SHARE,
    "share-groups",
    "a group's members and its lag",
    "delete groups without members",
    _SHARE_EXAMPLES,
)
STREAMS_GROUPS = _noun(
    STREAMS,
    "streams-groups",
    "a group's members, tasks, topology and lag",
    "delete groups without members; internal topics and stores stay",
    _STREAMS_EXAMPLES,
)
