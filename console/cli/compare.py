"""``kac compare``: prints the differences between two clusters, files or entities, or between the brokers of one
cluster.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.cli import opening
from console.model.entity_types import in_files
from console.model.parts import Part
from console.terminal import complain, leave

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.answers.results import Table
    from console.files.wanted import Wanted
    from console.model.config import ConfigPlace, ConfigResource

EXAMPLES = """examples:
  kac compare staging prod                     two contexts
  kac compare wanted.yaml prod                 a file and a cluster
  kac compare -c prod topic:orders topic:returns
  kac compare -c prod --brokers                the keys and brokers that differ
"""
ENTITIES = {each.word: each for each in in_files()}


def compare_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac compare``."""
    what = (
        f"a context, a file, or one of {', '.join(f'{word}:NAME' for word in ENTITIES)} in the cluster of the options"
    )
    parser.epilog = EXAMPLES
    parser.add_argument("left", nargs="?", metavar="A", help=what)
    parser.add_argument("right", nargs="?", metavar="B", help="the second one, in the same forms")
    parser.add_argument("--brokers", action="store_true", help="compare the brokers of the cluster of the options")
    parser.add_argument(
        "--every", action="store_true", help="with --brokers: also keys that differ by design, such as addresses"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 if something differs")


def run_compare(options: argparse.Namespace) -> int:
    """Print the differences between two contexts, files or entities, or among brokers.

    Returns:
        The exit code: 0 compared; 1 something could not be read; 2 the arguments are invalid; 3 with --exit-code, if
        there are differences.
    """
    if options.brokers:
        return _brokers(options)
    if options.left is None or options.right is None:
        return leave(opening.USAGE, "compare takes two things, or --brokers: see kac compare --help")
    resources = [found for text in (options.left, options.right) if (found := _resource(text)) is not None]
    if len(resources) == 2:
        return _entities(resources, options)
    from console.answers.results import Printer
    from console.files.compare import compare, difference_table
    from console.files.wanted import without

    sides = []
    unread: set[str] = set()
    for text in (options.left, options.right):
        side = _side(text, options)
        if isinstance(side, int):
            return side
        sides.append(side.wanted)
        unread |= side.unread
    for part in sorted(unread):
        complain(f"left out of the comparison: {part}, which one side does not show")
    differences = compare(*(without(side, unread) for side in sides))
    Printer(options.output)(difference_table(differences, options.left, options.right))
    return opening.FAILED if unread else _code(bool(differences), options)


def _code(differs: bool, options: argparse.Namespace) -> int:
    from console.cli.files import CHANGES

    return CHANGES if differs and options.exit_code else opening.DONE


def _resource(text: str) -> ConfigResource | None:
    from console.model.codes import ResourceType
    from console.model.config import ConfigResource

    word, colon, name = text.partition(":")
    if not colon or word not in ENTITIES:
        return None
    is_default = ENTITIES[word].has_default and name == "<default>"
    return ConfigResource(ResourceType(ENTITIES[word].number or 0), "" if is_default else name)


class _Side(NamedTuple):
    """The state of one of the two compared clusters or files."""

    wanted: Wanted
    unread: frozenset[str] = frozenset()
    """The parts of the cluster that could not be read completely."""


def _side(text: str, options: argparse.Namespace) -> _Side | int:
    """Return the state of a cluster, given by its context, or of a file. If it can't be read, print the reason and
    return an exit code.
    """
    if Path(text).exists():
        from console.cli.files import read

        found = read([text])
        if found is not None and found.reassign is not None:
            return leave(
                opening.USAGE, f"{text}: kac plan -f says what a reassignment moves; it is no state to compare"
            )
        return opening.USAGE if found is None else _Side(found.wanted)
    named = argparse.Namespace(**{**vars(options), "context": text})
    context = opening.context_of(named)
    if context is None:
        return opening.USAGE
    from console import event_loop
    from console.admin.errors import AdminError
    from console.files.wanted import PARTS, owned_lines, wanted_of
    from console.session.operating import read_operations
    from console.session.owned_reading import read_owned
    from console.session.reading import read_everything
    from console.session.session import Session
    from console.session.snapshot_reader import Refused

    client = opening.command_client(context)
    session = Session(client, context, "compare")

    async def read_all() -> Mapping[ConfigPlace, str]:
        known = await read_everything(session)
        return await read_owned(known, context, partial(read_operations, session))

    try:
        owned = event_loop.run(read_all())
    except (AdminError, Refused) as error:
        return leave(opening.FAILED, f"{text}: {error.failure.told}".rstrip(". ") + ".")
    finally:
        client.close()
    failures = [each for each in session.snapshot.failures if each.part in PARTS]
    for each in failures:
        complain(f"{text}: could not be read: {each.what}: {each.failure}")
    for line in owned_lines(owned):
        complain(f"note: {text}: left out: {line}")
    return _Side(wanted_of(session.snapshot, owned), frozenset(each.part for each in failures if not each.entity))


def _entities(resources: list[ConfigResource], options: argparse.Namespace) -> int:
    from console.answers.results import Printer
    from console.files.compare import entity_table
    from console.files.wanted import owned_lines
    from console.language.snapshot_parts import Needs
    from console.plan.stale_throttles import THROTTLES, owned_by_moves
    from console.session.reading import read_needs

    need = Needs(frozenset({Part.REASSIGNMENTS}), resources=frozenset(resources))
    known = opening.with_session(options, "compare", partial(read_needs, need=need))
    if isinstance(known, int):
        return known
    sets = [known.configs.get(resource) for resource in resources]
    for resource, entries in zip(resources, sets, strict=True):
        if entries is None:
            failures = [str(each.failure) for each in known.failures if each.part == Part.CONFIGS]
            return leave(
                opening.FAILED,
                f"{options.left if resource is resources[0] else options.right}: {'; '.join(failures) or 'not there'}",
            )
    table: Table = entity_table(sets[0], sets[1], options.left, options.right)  # type: ignore[arg-type]
    Printer(options.output)(table)
    shown = {row.data["key"] for row in table.rows} & THROTTLES
    for line in owned_lines({place: why for place, why in owned_by_moves(known).items() if place[1] in shown}):
        complain(f"note: {line}")
    return _code(bool(table.rows), options)


def _brokers(options: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from console.answers.results import Printer
    from console.files.compare import broker_table
    from console.language.snapshot_parts import Needs
    from console.model.broker_matrix import broker_matrix
    from console.model.codes import BROKER
    from console.model.config import broker_resource
    from console.session.reading import read_needs

    known = opening.with_session(options, "compare", partial(read_needs, need=Needs(every=frozenset({BROKER}))))
    if isinstance(known, int):
        return known
    ids = sorted(node.id for node in known.cluster.brokers or known.cluster.controllers)
    sets = {
        number: known.configs[broker_resource(number)] for number in ids if broker_resource(number) in known.configs
    }
    for number in ids:
        if number not in sets:
            complain(f"broker {number} could not be read")
    rows = broker_matrix(sets, every=options.every)
    table = broker_table(rows, sorted(sets))
    Printer(options.output)(table if len(sets) == len(ids) else replace(table, empty="those that were read are alike"))
    return opening.FAILED if len(sets) < len(ids) else _code(bool(rows), options)
