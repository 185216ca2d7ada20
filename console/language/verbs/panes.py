"""The panes: each opens by its name. `plan` and `history` are both a pane and a verb."""

from __future__ import annotations

from msgspec.structs import astuple

from console.language.arguments import filter_text
from console.language.quoting import quote
from console.language.reader import Reader
from console.language.statements import INTERACTIVE, BarStatement, Where, joined
from console.language.verb import GO, HelpEntry, StatementKind, Verb


class View(BarStatement, frozen=True):
    """A statement that opens a pane by its name."""

    pane: str
    filter: str = ""
    """The text of the filter; ``""`` without a filter."""


def _parse(reader: Reader) -> View:
    return View(reader.verb, filter_text(reader))


_VIEW = StatementKind(
    statement=View, text=lambda statement: joined(statement.pane, quote(statement.filter) if statement.filter else "")
)


def _pane(
    name: str, summary: str, *examples: str, about: str = "", takes: str = "[FILTER]", where: Where = Where.BAR
) -> HelpEntry:
    return HelpEntry(name, GO, (f"{name} {takes}",), summary, about, examples, where)


_HELP = (
    _pane("topics", "The topics", "topics svc-8", where=INTERACTIVE),
    _pane("brokers", "The brokers and the controller", "brokers", where=INTERACTIVE),
    _pane("configs", "The configs of the selected entity", "configs ssl", where=INTERACTIVE),
    _pane("quotas", "The quotas", "quotas alice", where=INTERACTIVE),
    _pane("acls", "The ACLs", "acls User:alice", where=INTERACTIVE),
    _pane("groups", "The groups and their lag", "groups billing", where=INTERACTIVE),
    _pane(
        "drift",
        "What differs from its peers: keys by broker, by cluster, from the baseline",
        "drift",
        about="Read from a lake; see kac lake.",
    ),
    _pane(
        "usage",
        "Who uses how much of which quota",
        "usage",
        "usage 'since=2h by=alice'",
        about="Read from a lake. FILTER: words, and since=2h, until=14:05, by=alice.",
    ),
    _pane(
        "transactions",
        "The open transactions, and which of them hang",
        "transactions",
        "transactions hangs",
        about="Read while the view is shown. One hangs where no coordinator will end it; unseen, it is possible at "
        "most.",
    ),
    _pane(
        "tokens",
        "The delegation tokens that you may see",
        "tokens",
        "tokens User:flink",
        about="Read while the view is shown.",
    ),
    _pane(
        "connectors",
        "The connectors of Kafka Connect",
        "connectors orders",
        about="The context names the Connect clusters: [contexts.NAME.connect.CLUSTER] with url.",
        where=INTERACTIVE,
    ),
    _pane(
        "mirrors",
        "The flows of MirrorMaker 2 to this cluster",
        "mirrors",
        about="Read from MirrorMaker's own topics here.",
    ),
    _pane(
        "schemas",
        "The subjects of the schema registry",
        "schemas",
        "schemas orders",
        about="Read from the registry of the context, [contexts.NAME.schemas].",
    ),
    _pane(
        "fleet",
        "All contexts: the verdict on each cluster, its worst cause, and a few counts",
        "fleet HIGH",
        about="Each cluster is read every 45 s while the pane is visible, but none whose secret the operator types: "
        "Enter opens it, and asks. kac fleet prints the rows.",
    ),
    _pane("moves", "What moves, how far it is, why not", "moves stuck"),
    _pane(
        "find",
        "What contains a text, in all panes",
        "find billing",
        "find 'checkout dlq'",
        about="Brokers, topics, groups, keys and values that are set, quotas, ACLs, transactions, the plan, events and "
        "causes; what was not read yet is read. TEXT as a filter: words, /regex, !without. Values that brokers "
        "hide are not found.",
        takes="TEXT",
    ),
)

PANES = tuple(each.name for each in _HELP)
VERBS = tuple(Verb(*astuple(each), parse=_parse, statements=(_VIEW,)) for each in _HELP)
