"""The tools for an agent: their arguments with types and limits, their descriptions, and their functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, field

from console.cli.mcp.bounds import MOST_ROWS, ROWS
from console.cli.mcp.proposing import LONGEST, MOST_STATEMENTS, Proposals
from console.cli.mcp.queries import Answered, Queries
from console.language.errors import CommandError
from console.language.statements import EditStatement
from console.language.verbs import VERBS
from console.language.verbs.listing import KINDS

READ_SECONDS = 60.0
"""Maximum duration in seconds of a tool's reads, in addition to the time for which it watches."""

_ENTITY = (
    "an entity as TYPE NAME: topic orders, broker 2, broker <default>, group app, user alice, user alice client app"
)
_NAME = 500
"""Maximum length in characters of a text argument."""


def _text(description: str) -> Meta:
    return Meta(max_length=_NAME, description=description)


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments that all tools have."""

    rows: Annotated[
        int, Meta(ge=1, le=MOST_ROWS, description="rows of each list of the answer; left_out says what is cut")
    ] = ROWS

    @property
    def watches(self) -> float:
        """The number of seconds for which the tool watches the cluster before it answers; 0 for most tools."""
        return 0.0


class Watching(Arguments, frozen=True):
    """The arguments of a tool that watches the cluster before it answers."""

    @property
    def watches(self) -> float:
        """The number of seconds for which the tool watches the cluster before it answers."""
        return float(getattr(self, "seconds", 0.0))


class VerdictArguments(Watching, frozen=True, kw_only=True):
    """The arguments of the tool `verdict`."""

    seconds: Annotated[
        float, Meta(ge=0, le=60, description="how long to watch first; 0 looks once, without trends")
    ] = 10.0
    expected_down: Annotated[
        list[int], Meta(max_length=100, description="ids of brokers that are announced to be down")
    ] = field(default_factory=list)


class LintArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `lint`."""

    rules: Annotated[
        list[Annotated[str, Meta(max_length=_NAME)]],
        Meta(max_length=100, description="only these rules, by name, as metadata-version-behind; without it all"),
    ] = field(default_factory=list)


class ListArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `list`."""

    kind: Annotated[str, Meta(max_length=50, description="what to list", extra_json_schema={"enum": list(KINDS)})]
    filter: Annotated[
        str,
        _text(
            "a GLOB of names, and KEY=VALUE, KEY!=VALUE, KEY>N of columns or configs, with blanks between: "
            "svc-* under_replicated>0 retention.ms>=7d"
        ),
    ] = ""


class DescribeArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `describe`."""

    entity: Annotated[str, _text(_ENTITY)]
    keys: Annotated[
        list[Annotated[str, Meta(max_length=_NAME)]],
        Meta(max_length=50, description="these configs alone, each with its documentation"),
    ] = field(default_factory=list)


class QuotaArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `effective_quota`."""

    user: Annotated[str, _text("the name of a user")]
    client: Annotated[str, _text("a client id; empty: a client without one")] = ""
    key: Annotated[str, _text("one quota, as producer_byte_rate; without it all")] | None = None


class ExplainArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `explain`."""

    principal: Annotated[str, _text("as User:alice")]
    operations: Annotated[str, _text("as READ or READ,DESCRIBE or ALL")]
    resource: Annotated[str, _text("as topic orders, group app, transactional-id t, cluster")]
    host: Annotated[str, _text("the client's address; without it, any")] | None = None


class EventsArguments(Watching, frozen=True, kw_only=True):
    """The arguments of the tool `events`."""

    seconds: Annotated[float, Meta(ge=1, le=120, description="how long to watch")] = 20.0


class OffsetsArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `offsets`."""

    topic: Annotated[str, _text("the name of a topic")]
    at: Annotated[str, _text("also the first offset at or after then: 2h (ago), 2026-11-20T14:05")] | None = None


class HistoryArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `history`."""

    entity: Annotated[str, _text(f"only changes of {_ENTITY}")] | None = None
    text: Annotated[str, _text("only changes with this text in them")] = ""
    since: Annotated[str, _text("from then on: 2h or 7d (ago), 14:05, 2026-11-20T14:05")] | None = None
    until: Annotated[str, _text("changes before a time, in the same forms")] | None = None


class CompareArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `compare`."""

    left: Annotated[str, _text("an entity with configs, as topic orders; without both: all brokers")] | None = None
    right: Annotated[str, _text("the other one")] | None = None
    every: Annotated[bool, Meta(description="of brokers: also those keys that are each broker's own by nature")] = False


class ProposeArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of the tool `propose`."""

    statements: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST,
            description=f"statements of kac's language, at most {MOST_STATEMENTS}, parted by ; or line ends",
        ),
    ]


class Offer(NamedTuple):
    """The objects with which the tools of one server work: queries and proposals."""

    queries: Queries
    proposals: Proposals


class AgentTool(NamedTuple):
    """A tool for an agent: its description, its arguments and its function."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    carried: Callable[[Offer, Any], Awaitable[Answered]]
    """Runs the tool with its arguments and returns the answer."""
    narrow: str = "ask for more rows"
    """The hint that is added to a shortened answer."""
    writes: bool = False
    """Whether the tool writes a file on this host; no tool changes a cluster."""


def _compared(offer: Offer, given: CompareArguments) -> Awaitable[Answered]:
    if given.left is None and given.right is None:
        return offer.queries.compare_brokers(given.every)
    if given.left is None or given.right is None:
        raise CommandError("two entities are compared, or, without any, all brokers", "name left and right")
    return offer.queries.compare_entities(given.left, given.right)


def _language() -> str:
    """Return the forms of statements that can be proposed, a line each."""
    lines = (
        usage.replace("[ENTITY]", "ENTITY").replace(" [for DURATION]", "")
        for verb in VERBS.values()
        if any(issubclass(kind.statement, EditStatement) for kind in verb.statements)
        for usage in verb.usage
        # Leave out statements that only a person may use: those that set secrets, or begin operations.
        if "password=" not in usage and "[throttle" not in usage
    )
    return "\n".join(f"  {line}" for line in lines)


TOOLS = (
    AgentTool(
        "verdict",
        "What is wrong, and why",
        "What is wrong with the cluster and why: the fewest causes that explain all symptoms, each with its evidence, "
        "what was ruled out, what can't be known, and next steps with kac's commands. Begin an incident here.",
        VerdictArguments,
        lambda offer, given: offer.queries.verdict(given.seconds, given.expected_down),
    ),
    AgentTool(
        "lint",
        "Settings that will cause trouble",
        "Settings that will cause trouble, found by rules over the cluster's settings, replicas, disks, ACLs, quotas "
        "and groups: each finding with its certainty, its reason, and the statements that repair it; the rules that "
        "could not run, and why; and findings that an operator accepts, with the reason.",
        LintArguments,
        lambda offer, given: offer.queries.lint(given.rules),
        "name the rules, or ask for more rows",
    ),
    AgentTool(
        "list",
        "List entities",
        "All entities of a kind, one row each, filtered by name, by columns, or by configs of topics and brokers.",
        ListArguments,
        lambda offer, given: offer.queries.list_(given.kind, given.filter),
        "ask with a filter, or for more rows",
    ),
    AgentTool(
        "describe",
        "Describe an entity",
        "Everything about one entity: a topic with partitions and configs, a broker with its role and configs, a group "
        "with members and lag, a user with quotas and credentials (never a password). Each config with the source of "
        "its value and the chain that it overrides. Values that may be secrets are hidden.",
        DescribeArguments,
        lambda offer, given: offer.queries.describe(given.entity, given.keys),
        "name the keys, or ask for more rows",
    ),
    AgentTool(
        "effective_quota",
        "Which quota applies",
        "The quota that applies to a user and a client id, for each key, and the levels that it overrides. A limit "
        "holds on each broker by itself.",
        QuotaArguments,
        lambda offer, given: offer.queries.effective_quota(given.user, given.client, given.key),
    ),
    AgentTool(
        "explain",
        "Whether ACLs allow it",
        "Whether ACLs allow a principal operations on a resource, which ACL decides, and what brokers do not say.",
        ExplainArguments,
        lambda offer, given: offer.queries.explain(given.principal, given.operations, given.resource, given.host),
    ),
    AgentTool(
        "events",
        "What changes right now",
        "What changes in the cluster while it is watched: configs, quotas, ACLs, topics, leaders, ISRs, brokers, "
        "groups. It answers when the time is over.",
        EventsArguments,
        lambda offer, given: offer.queries.events(given.seconds),
        "watch for a shorter time, or ask for more rows",
    ),
    AgentTool(
        "offsets",
        "Offsets of a topic, and its newest records' times",
        "Of each partition of a topic the first and the end offset, when its newest record was written, and the first "
        "offset at or after a time. Contents of records are never given.",
        OffsetsArguments,
        lambda offer, given: offer.queries.offsets(given.topic, given.at),
    ),
    AgentTool(
        "moves",
        "What moves now",
        "The partitions that are being moved between brokers now, with what is copied, as the pane Moves.",
        Arguments,
        lambda offer, _given: offer.queries.moves(),
    ),
    AgentTool(
        "history",
        "What was changed from this host",
        "Changes that kac made from this host, the latest first, by its journal: who, when, the value before and "
        "after, the outcome. Changes by others are not in it.",
        HistoryArguments,
        lambda offer, given: offer.queries.history(given.entity, given.text, given.since, given.until),
        "narrow it by entity, text, since and until, or ask for more rows",
    ),
    AgentTool(
        "compare",
        "What differs",
        "The configs in which two entities differ, with the sources of both values; without entities, the configs in "
        "which the brokers differ, and which of them are the odd ones.",
        CompareArguments,
        _compared,
    ),
    AgentTool(
        "propose",
        "Propose changes to a person",
        "Stages statements, forecasts what they would do, has the brokers check them without changing anything, and "
        "writes a plan file that a person reads and applies, or not. It changes no cluster. The answer has the lines "
        "of the plan (old and new values), its risks by name, what can't be taken back, and the command for a person: "
        "give them that, and say why you propose it. Nothing is written if the brokers refuse it. Secrets can't be "
        "proposed. The statements (names with blanks stand in quotes; values may have units, as 7d, 10MB/s):\n"
        + _language(),
        ProposeArguments,
        lambda offer, given: offer.proposals.propose(given.statements),
        "propose it in parts",
        writes=True,
    ),
)
BY_NAME = {each.name: each for each in TOOLS}
