"""The panes: a view by its name. `plan` and `history` are both a pane and a verb."""

from __future__ import annotations

from console.language.arguments import filter_text
from console.language.node_text import joined
from console.language.quoting import quote
from console.language.reader import Reader
from console.language.statements import INTERACTIVE, BarStatement, Where
from console.language.verb import GO, StatementKind, Verb


class View(BarStatement, frozen=True):
    """A pane by its name. filter: ``""`` without a filter."""

    pane: str
    filter: str = ""


def _parse(reader: Reader) -> View:
    return View(reader.verb, filter_text(reader))


def _text(statement: View) -> str:
    return joined(statement.pane, quote(statement.filter) if statement.filter else "")


_VIEW = StatementKind(statement=View, text=_text)

VERBS = (
    Verb(
        name="topics",
        group=GO,
        usage=("topics [FILTER]",),
        summary="The topics",
        examples=("topics svc-8",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="brokers",
        group=GO,
        usage=("brokers [FILTER]",),
        summary="The brokers and the controller",
        examples=("brokers",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="configs",
        group=GO,
        usage=("configs [FILTER]",),
        summary="The configs of the selected entity",
        examples=("configs ssl",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="quotas",
        group=GO,
        usage=("quotas [FILTER]",),
        summary="The quotas",
        examples=("quotas alice",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="acls",
        group=GO,
        usage=("acls [FILTER]",),
        summary="The ACLs",
        examples=("acls User:alice",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="groups",
        group=GO,
        usage=("groups [FILTER]",),
        summary="The groups and their lag",
        examples=("groups billing",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="drift",
        group=GO,
        usage=("drift [FILTER]",),
        summary="What differs from its peers: keys by broker, by cluster, from the baseline",
        about="Read from a lake; see kac lake.",
        examples=("drift",),
        where=Where.BAR,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="usage",
        group=GO,
        usage=("usage [FILTER]",),
        summary="Who uses how much of which quota",
        about="Read from a lake. FILTER: words, and since=2h, until=14:05, by=alice.",
        examples=("usage", "usage 'since=2h by=alice'"),
        where=Where.BAR,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="transactions",
        group=GO,
        usage=("transactions [FILTER]",),
        summary="The open transactions, and which of them hang",
        about=(
            "Read while the view is shown. One hangs where no coordinator will end it; unseen, it is possible at most."
        ),
        examples=("transactions", "transactions hangs"),
        where=Where.BAR,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="moves",
        group=GO,
        usage=("moves [FILTER]",),
        summary="What moves, how far it is, why not",
        examples=("moves stuck",),
        where=Where.BAR,
        parse=_parse,
        statements=(_VIEW,),
    ),
    Verb(
        name="find",
        group=GO,
        usage=("find TEXT",),
        summary="What contains a text, in all panes",
        about=(
            "Brokers, topics, groups, keys and values that are set, quotas, ACLs, transactions, the plan, events and "
            "causes; what was not read yet is read. TEXT as a filter: words, /regex, !without. Values that brokers "
            "hide are not found."
        ),
        examples=("find billing", "find 'checkout dlq'"),
        where=Where.BAR,
        parse=_parse,
        statements=(_VIEW,),
    ),
)

PANES = tuple(verb.name for verb in VERBS)
