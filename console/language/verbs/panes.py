"""The panes: a view by its name. `plan` and `history` are both a pane and a verb."""

from __future__ import annotations

from msgspec.structs import astuple

from console.language.arguments import filter_text
from console.language.quoting import quote
from console.language.reader import Reader
from console.language.statements import INTERACTIVE, BarStatement, Where, joined
from console.language.verb import GO, HelpEntry, StatementKind, Verb


class View(BarStatement, frozen=True):
    """A pane by its name. filter: ``""`` without a filter."""

    pane: str
    filter: str = ""


def _parse(reader: Reader) -> View:
    return View(reader.verb, filter_text(reader))


_VIEW = StatementKind(
    statement=View, text=lambda statement: joined(statement.pane, quote(statement.filter) if statement.filter else "")
)

_HELP = (
    HelpEntry("topics", GO, ("topics [FILTER]",), "The topics", "", ("topics svc-8",), INTERACTIVE),
    HelpEntry("brokers", GO, ("brokers [FILTER]",), "The brokers and the controller", "", ("brokers",), INTERACTIVE),
    HelpEntry(
        "configs", GO, ("configs [FILTER]",), "The configs of the selected entity", "", ("configs ssl",), INTERACTIVE
    ),
    HelpEntry("quotas", GO, ("quotas [FILTER]",), "The quotas", "", ("quotas alice",), INTERACTIVE),
    HelpEntry("acls", GO, ("acls [FILTER]",), "The ACLs", "", ("acls User:alice",), INTERACTIVE),
    HelpEntry("groups", GO, ("groups [FILTER]",), "The groups and their lag", "", ("groups billing",), INTERACTIVE),
    HelpEntry(
        "drift",
        GO,
        ("drift [FILTER]",),
        "What differs from its peers: keys by broker, by cluster, from the baseline",
        "Read from a lake; see kac lake.",
        ("drift",),
        Where.BAR,
    ),
    HelpEntry(
        "usage",
        GO,
        ("usage [FILTER]",),
        "Who uses how much of which quota",
        "Read from a lake. FILTER: words, and since=2h, until=14:05, by=alice.",
        ("usage", "usage 'since=2h by=alice'"),
        Where.BAR,
    ),
    HelpEntry(
        "transactions",
        GO,
        ("transactions [FILTER]",),
        "The open transactions, and which of them hang",
        "Read while the view is shown. One hangs where no coordinator will end it; unseen, it is possible at most.",
        ("transactions", "transactions hangs"),
        Where.BAR,
    ),
    HelpEntry(
        "tokens",
        GO,
        ("tokens [FILTER]",),
        "The delegation tokens that you may see",
        "Read while the view is shown.",
        ("tokens", "tokens User:flink"),
        Where.BAR,
    ),
    HelpEntry("moves", GO, ("moves [FILTER]",), "What moves, how far it is, why not", "", ("moves stuck",), Where.BAR),
    HelpEntry(
        "find",
        GO,
        ("find TEXT",),
        "What contains a text, in all panes",
        "Brokers, topics, groups, keys and values that are set, quotas, ACLs, transactions, the plan, events and "
        "causes; what was not read yet is read. TEXT as a filter: words, /regex, !without. Values that brokers "
        "hide are not found.",
        ("find billing", "find 'checkout dlq'"),
        Where.BAR,
    ),
)

PANES = tuple(each.name for each in _HELP)
VERBS = tuple(Verb(*astuple(each), parse=_parse, statements=(_VIEW,)) for each in _HELP)
