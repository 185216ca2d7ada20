"""``kac mirrors``: lists the flows of MirrorMaker 2 to the cluster, their topics and groups."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from console.cli import noun as cli_noun
from console.contexts.context import NEVER, Context
from console.language.quoting import quote_pattern
from console.model.parts import Part

if TYPE_CHECKING:
    from console.model.failure import Failure
    from console.model.mirror import Flow
    from console.present.mirrors import LagRow
    from console.session.snapshot_reader import Client

_EXAMPLES = """\
examples:
  kac mirrors -c prod
  kac mirrors -c prod list --mirror 'east->*' --output json
  kac mirrors -c prod groups --group orders-app
  kac mirrors -c prod topics --mirror 'east->prod'
  kac mirrors -c prod lag --source-context east
"""


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--mirror", metavar="SOURCE->TARGET", help="the flow, by the aliases in MirrorMaker's settings; or a pattern")
    add("--group", metavar="NAME", help="with groups: only this group, or a pattern")
    add("--topic", metavar="NAME", help="with topics and groups: only this copy, or a pattern")
    add("--source-context", metavar="NAME", help="with lag: the context of the cluster from which the flow copies")


def _meaning(given: argparse.Namespace, action: str) -> cli_noun.Statements | cli_noun.Carry:
    if action == "lag":
        return _lag(cli_noun.need(given.source_context, "--source-context", action), given.mirror)
    kinds = {"list": "mirrors", "groups": "mirror-groups", "topics": "mirror-topics"}
    for option in ("group", "topic"):
        if getattr(given, option) is not None and option not in _FILTERS[action]:
            raise cli_noun.OptionsError(f"--{option} is not for {action}")
    filters = [
        f" {name}={quote_pattern(value)}"
        for name in ("mirror", *_FILTERS[action])
        if (value := getattr(given, name)) is not None
    ]
    return (f"list {kinds[action]}{''.join(filters)}",)


_FILTERS = {"list": (), "groups": ("group", "topic"), "topics": ("topic",)}
"""Action -> the names of the options that it takes in addition to --mirror; each is also the name of a column."""


def _lag(source: str, mirror: str | None) -> cli_noun.Carry:
    async def carry(client: Client, context: Context) -> cli_noun.Found:
        from console.answers.results import table_of
        from console.cli.opening import command_client, context_of
        from console.model.snapshot import ReadFailure
        from console.present.mirrors import LAGS

        flow = await _flow(client, context, mirror)
        theirs = context_of(argparse.Namespace(context=source))
        if theirs is None:
            raise cli_noun.OptionsError(f"--source-context {source} can't be used")
        if theirs.records == NEVER:
            raise cli_noun.OptionsError(f"context {source} forbids reading records, which offset syncs are")
        there = command_client(theirs)
        try:
            rows, unread = await _lag_rows(client, there, flow)
        finally:
            there.close()
        if not rows and not unread:
            raise cli_noun.OptionsError(f"context {source} has no topic that {flow.name} copies: is it {flow.source}?")
        problems = tuple(ReadFailure("mirror lag", flow.name, each) for each in unread)
        return cli_noun.Found([table_of("mirror_lag", LAGS, rows, problems=problems)])

    return carry


async def _flow(client: Client, context: Context, name: str | None) -> Flow:
    """Return the flow with a name; for None, the only flow that copies topics. Raises OptionsError: there is no such
    flow, or several copy topics.
    """
    from console.session.session import Session

    session = Session(client, context, "mirrors")
    await session.read_cluster()  # checks the cluster's id
    await session.read_topics()
    await session.read_whole(Part.MIRRORS)
    found = [each for each in session.snapshot.mirrors.values() if (each.name == name if name else each.topics)]
    if len(found) != 1:
        known = ", ".join(session.snapshot.mirrors) or "none"
        raise cli_noun.OptionsError(f"lag needs --mirror with one of the flows: {known}")
    return found[0]


async def _lag_rows(here: Client, there: Client, flow: Flow) -> tuple[list[LagRow], list[Failure]]:
    """Return a row for each partition that a flow copies, with the offsets of the source and of the copy; and the
    failures of the partitions that could not be read.

    Args:
        here, there: the clients of the target cluster and of the source cluster.
    """
    from console.admin.mirror import describe_mirrors
    from console.admin.partitions import log_ranges
    from console.admin.topics import describe_topics
    from console.model.mirror import OffsetSync, copied_up_to, source_topic, syncs_topic
    from console.present.mirrors import LagRow

    theirs = (await there.run(describe_topics, None)).topics
    syncs = [each for each, _ in flow.syncs]
    failures: list[Failure] = []
    if not syncs and (topic := theirs.get(syncs_topic(flow.target))) is not None:
        read = await there.run(describe_mirrors, [topic])
        failures += read.failures.values()
        kept = [each.record for one in read.topics.values() for each in one.kept.values()]
        syncs = [each for each in kept if isinstance(each, OffsetSync)]
    known = {(each.topic, each.partition): each for each in syncs}
    copies = {
        (copy, each.number): (name, each.number)
        for copy in flow.topics
        if (name := source_topic(flow, copy, theirs))
        for each in theirs[name].partitions
    }
    (ends, lost), (ours, lost_here) = await asyncio.gather(
        there.run(log_ranges, [*copies.values()]), here.run(log_ranges, [*copies])
    )
    rows = []
    for copy, place in copies.items():
        if place in ends:
            is_known = place in known and copy in ours
            copied = copied_up_to(known[place], ours[copy].end) if is_known else None
            rows.append(LagRow(flow, *copy, ends[place].end, copied))
    return rows, [*failures, *lost, *lost_here]


MIRRORS = cli_noun.Noun(
    "mirrors",
    {},
    _options,
    _meaning,
    _EXAMPLES,
    words={
        "list": "the flows: heartbeats, copies, groups",
        "groups": "the groups with translated offsets, by partition",
        "topics": "the copies with offset syncs, by partition",
        "lag": "the number of records that the source has and this cluster lacks, by partition",
    },
)
