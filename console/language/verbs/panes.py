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
    """The text of the filter; ``""`` without one."""


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
        "The keys whose values differ from those of peers, by broker, by cluster, and from the baseline",
        "drift",
        about="kac reads them from a lake; see `kac lake`.",
    ),
    _pane(
        "usage",
        "How much of its quotas each client uses",
        "usage",
        "usage 'since=2h by=alice'",
        about="kac reads it from a lake. FILTER has words, and `since=2h`, `until=14:05`, `by=alice`.",
    ),
    _pane(
        "transactions",
        "The open transactions, and which of them hang",
        "transactions",
        "transactions hangs",
        about="kac reads them while the pane is open. A transaction hangs if no coordinator will end it; if kac can't "
        "see that, it is possible at most.",
    ),
    _pane(
        "tokens",
        "The delegation tokens that you may see",
        "tokens",
        "tokens User:flink",
        about="kac reads them while the pane is open.",
    ),
    _pane(
        "connectors",
        "The connectors of Kafka Connect",
        "connectors orders",
        about="The context names the Connect clusters: `[contexts.NAME.connect.CLUSTER]` with `url`.",
        where=INTERACTIVE,
    ),
    _pane(
        "mirrors",
        "The flows of MirrorMaker 2 to this cluster",
        "mirrors",
        about="kac reads them from MirrorMaker's own topics on this cluster.",
    ),
    _pane(
        "schemas",
        "The subjects of the schema registry",
        "schemas",
        "schemas orders",
        about="kac reads them from the registry of the context, `[contexts.NAME.schemas]`.",
    ),
    _pane(
        "fleet",
        "All contexts: the verdict on each cluster, its worst cause, and a few counts",
        "fleet HIGH",
        about="kac reads each cluster every 45 s while the pane is open, but no cluster whose secret you type: Enter "
        "opens it, and asks. `kac fleet` prints the rows.",
    ),
    _pane("moves", "The running moves, how far they are, and why they are stuck", "moves stuck"),
    _pane(
        "find",
        "Everything that contains a text, in all panes",
        "find billing",
        "find 'checkout dlq'",
        about="kac searches brokers, topics, groups, keys and values that are set, quotas, ACLs, transactions, the "
        "plan, events and causes, and first reads what it has not read yet. TEXT is a filter: words, /regex, !without. "
        "kac does not find values that brokers hide.",
        takes="TEXT",
    ),
)

PANES = tuple(each.name for each in _HELP)
VERBS = tuple(Verb(*astuple(each), parse=_parse, statements=(_VIEW,)) for each in _HELP)
