"""``kac diff``, ``plan`` and ``apply``, which take a cluster's wanted state from files; ``kac export`` and
``snapshot``, which print a cluster's present state.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from console.cli import opening
from console.model.numbers import option
from console.model.parts import Part
from console.safe_files import PRIVATE, read_text, write_whole
from console.terminal import complain, leave, put, stdout

if TYPE_CHECKING:
    from console.files.plan_file import PlanFile
    from console.files.read import Read
    from console.files.staging import Prune, Staging
    from console.files.wanted import Wanted
    from console.model.config import ConfigPlace
    from console.model.snapshot import Snapshot
    from console.plan.plan import Plan, StageReport
    from console.session.session import Session


CHANGES = 3
"""The exit code with --exit-code if there are differences."""
PRUNE_HELP = (
    "remove all entities of this kind that no file lists: topics, configs, quotas, acls, connectors or schemas. With "
    "GLOB kac removes only entities whose name matches, or for ACLs the principal. If a file lists an entity, kac "
    "always removes the entity's other overrides and limits"
)


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for files, and for the deletion of entities that no file contains (--prune)."""
    files = (
        "a file, a directory of *.yaml, or - for standard input; may be repeated. kac also reads files of other tools: "
        "Strimzi's resources, topicctl's topics, kafka-reassign-partitions' JSON, connectors in Connect's form, and "
        "the output of kafka-acls --list and kafka-configs --describe"
    )
    parser.add_argument("-f", "--file", metavar="FILE", action="append", required=True, help=files)
    parser.add_argument("--prune", metavar="KIND[=GLOB]", action="append", default=[], help=PRUNE_HELP)
    throttle = (
        "for a reassignment: how many bytes a second each broker copies at most, and others read from the broker; "
        "0: no limit"
    )
    parser.add_argument("--throttle", metavar="RATE", type=option(opening.throttle_rate), help=throttle)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def prunes(options: argparse.Namespace) -> tuple[Prune, ...] | None:
    """Return the values of --prune. If one is invalid, print the problem and return None."""
    from console.files.staging import Prune
    from console.files.wanted import KINDS

    found = []
    for text in options.prune:
        kind, _, glob = text.partition("=")
        if kind not in KINDS:
            complain(f"--prune {text}: name what may be removed: {', '.join(KINDS)}")
            return None
        found.append(Prune(kind, glob or "*"))
    return tuple(found)


def read(names: list[str], context: str | None = None, *, described: bool = False) -> Read | None:
    """Read the wanted state of one cluster from files. If a file is invalid, print all problems and return None.

    Args:
        names: the paths of the files.
        context: the context that the operator names; None if none is named. If the files are for several clusters, only
            those for the cluster of this context are used.
        described: whether to accept files that only describe a cluster of a Kubernetes operator, see `read_files`.
    """
    from console.files.read import for_cluster
    from console.files.reading import read_files
    from console.model.yaml_places import FileProblems

    # Stop the garbage collector: all objects made here live until the end, and it would scan them repeatedly.
    gc.disable()
    try:
        found = for_cluster(read_files(names, described=described), context)
    except FileProblems as problems:
        for problem in problems.problems:
            complain(str(problem))
        return None
    judged = [note for each in found.described.values() for note in each.notes] if described else []
    for note in found.notes:
        if note not in judged:
            complain(f"note: {note}")
    return found


def meant(options: argparse.Namespace, read: Read) -> argparse.Namespace:
    """Return the options with the cluster to use: the cluster that the options name, else the context with the name
    of the cluster that the files are for. Print which cluster is used, unless the options name the files'
    cluster.
    """
    names = ("context", "bootstrap_server", "bootstrap_controller", "command_config")
    given = {name: getattr(options, name, None) for name in names}
    if not read.cluster or given["context"] == read.cluster:
        return options
    if all(each is None for each in given.values()):
        complain(f"note: the files are for cluster {read.cluster}: the context with this name is taken")
        return argparse.Namespace(**{**vars(options), "context": read.cluster})
    complain(f"note: the files are for cluster {read.cluster}; the one that you named is taken")
    return options


def no_plan(options: argparse.Namespace, read: Read) -> str:
    """Return the reason why the files and the options exclude each other: a reassignment with other files or options,
    or --throttle without a reassignment; ``""`` if they fit.
    """
    if read.reassign is None:
        return "" if options.throttle is None else "--throttle goes with a file of kafka-reassign-partitions"
    _, source, line = read.reassign
    if not read.is_empty:
        return f"{source}:{line}: a reassignment is an operation of its own; give its file alone"
    if options.prune or getattr(options, "out", None) is not None:
        return (
            f"{source}:{line}: a reassignment takes neither --prune nor --out: apply plans it again from what is there"
        )
    return ""


def _reassign(
    options: argparse.Namespace, front_end: str, read: Read, *, begins: bool, moves: int = opening.DONE
) -> int:
    """Print the plan of the reassignment in a file; if `begins`, also begin its operation. Return the exit code.

    Args:
        front_end: the command, for the journal.
        moves: the exit code if replicas would move.
    """
    assert read.reassign is not None
    from console.cli.moves import run_goal

    goal, source, _ = read.reassign
    rest = {"script": False, "begins": begins, "yes": getattr(options, "yes", False)}
    begin = f"kac apply -f {source}"
    return run_goal(argparse.Namespace(**{**vars(options), **rest}), front_end, goal, begin, moves)


def written(path: Path, text: str, mode: int) -> bool:
    """Write a whole file (`console.safe_files.write_whole`). If that fails, print the reason and return False. mode:
    the file's permissions.
    """
    try:
        write_whole(path, text, mode)
    except OSError as error:
        complain(f"can't write {path}: {error.strerror or error}")
        return False
    return True


def left_out(staging: Staging) -> int:
    """Print the parts of the files that can't be staged. Return the exit code: 1 if the staging is incomplete,
    else 0.
    """
    for problem in (*staging.problems, *staging.secrets):
        complain(str(problem))
    for line in staging.unread:
        complain(f"could not be read: {line}")
    for line in staging.spared:
        complain(line)
    for line in staging.left:
        complain(f"note: left as it is: {line}")
    return opening.DONE if staging.whole else opening.FAILED


# ``kac diff``: the changes that bring a cluster to the wanted state of files.

NO_CHANGES, NO_OTHERS = "no changes", "no other changes"
"""The texts if there are no changes: alone, and after parts that can't be staged."""


def run_diff(options: argparse.Namespace) -> int:
    """Print the changes that would bring the cluster to the wanted state of the files.

    Returns:
        The exit code: 0 printed; 1 a part can't be read or changed; 2 the files or the context are invalid; 3 with
        --exit-code, if there are changes.
    """
    return tell_difference(options, "diff", keep=lambda *_: True)


def diff_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac diff``: the files, and an exit code for differences."""
    add_file_options(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 if something would change")


def tell_difference(
    options: argparse.Namespace, front_end: str, *, keep: Callable[[Plan, str], bool], checks: bool = False
) -> int:
    """Stage the wanted state of the files and print the plan.

    Args:
        front_end: the command, for the journal.
        keep: called with the plan and the cluster's id after the plan is printed; returns False if it failed.
        checks: whether the brokers check the plan before it is printed.

    Returns:
        The exit code, see `run_diff`.
    """
    prune = prunes(options)
    found = read(options.file, getattr(options, "context", None)) if prune is not None else None
    if found is None or prune is None:
        return opening.USAGE
    if wrong := no_plan(options, found):
        return leave(opening.USAGE, wrong)
    options = meant(options, found)
    if found.reassign is not None:
        return _reassign(options, front_end, found, begins=False, moves=CHANGES if options.exit_code else opening.DONE)
    from console.answers.plan_results import plan_table
    from console.answers.results import Printer
    from console.files.staging import file_edits, staging_of
    from console.plan.plan import marked
    from console.session.applying import check_plan
    from console.session.operating import read_operations
    from console.session.owned_reading import read_owned
    from console.session.plan_facts import read_for_risks
    from console.session.reading import read_everything
    from console.session.retention_reading import read_deletions

    async def work(session: Session) -> int:
        known = await read_everything(session, found.wanted.connector_classes, found.wanted.subjects)
        owned = await read_owned(known, session.context, partial(read_operations, session))
        wanted = file_edits(found.wanted, known, prune, owned)
        code = left_out(staging_of(found, wanted, session.stage(wanted.edits), session.snapshot))
        session.replan(marked(session.plan, wanted.pruned))
        if checks and session.plan and not session.context.read_only and not (await check_plan(session)).ok:
            code = code or opening.FAILED
        deletions = await read_deletions(session)
        facts = await read_for_risks(session, session.plan.staged)
        table = plan_table(session.plan, session.snapshot, deletions=deletions, facts=facts)
        Printer(options.output)(replace(table, empty=NO_OTHERS if code else NO_CHANGES))
        if not keep(session.plan, session.snapshot.cluster.cluster_id or ""):
            return opening.FAILED
        return code or (CHANGES if session.plan and options.exit_code else 0)

    return opening.with_session(options, front_end, work)


# ``kac plan``: the changes for files, checked by the brokers, and kept in a file to apply later.


def plan_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac plan``."""
    diff_options(parser)
    parser.add_argument("--out", type=Path, metavar="PLAN", help="keep the plan in a file, for kac apply -f PLAN")


def run_plan(options: argparse.Namespace) -> int:
    """Print the pending changes after the brokers have checked them, and write the plan into the file of --out.

    Returns:
        The exit code: 0 printed; 1 a part can't be changed or brokers refuse it; 2 the files or the context are
        invalid; 3 with --exit-code, if there are changes.
    """

    def keep(plan: Plan, cluster_id: str) -> bool:
        return options.out is None or _kept(plan, cluster_id, options.out)

    return tell_difference(options, "plan", keep=keep, checks=True)


def _kept(plan: Plan, cluster_id: str, path: Path) -> bool:
    from console.files.plan_file import write_plan

    try:
        text = write_plan(plan, cluster_id)
    except ValueError as error:
        complain(str(error))
        return False
    return written(path, text, PRIVATE)


# ``kac apply``: brings a cluster to the wanted state of files, or applies a plan from a file.


def apply_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac apply``."""
    add = parser.add_argument
    add_file_options(parser)
    add("--yes", action="store_true", help="do not ask")
    add("--valid-only", action="store_true", help="leave out edits that are refused or impossible, and send the others")
    add("--accept", metavar="NAME[=SUBJECT],…", default="", help="continue in spite of these warnings")
    add("--force", action="store_true", help="overwrite values that another client has changed since, and name them")


def run_apply(options: argparse.Namespace) -> int:
    """Bring the cluster to the wanted state of the files, or apply the plan in a plan file.

    Returns:
        The exit code: 0 applied, or nothing to apply; 1 something failed or was refused; 2 the files or the context are
        invalid; 3 nothing was sent, as warnings are not accepted; 4 a reassignment has to wait.
    """
    from console.files.read import Read

    try:
        kept = _plan_file(options.file)
    except ValueError as problem:
        return leave(opening.USAGE, str(problem))
    prune = prunes(options)
    found = read(options.file, getattr(options, "context", None)) if kept is None and prune is not None else None
    if prune is None or (kept is None and found is None):
        return opening.USAGE
    if wrong := no_plan(options, found or Read()):
        return leave(opening.USAGE, wrong)
    if found is not None:
        options = meant(options, found)
        if found.reassign is not None:
            return _reassign(options, "apply", found, begins=True)
    from console.files.staging import file_edits, staging_of
    from console.files.wanted import Wanted
    from console.plan.plan import marked
    from console.session.operating import read_operations
    from console.session.owned_reading import read_owned
    from console.session.read_again import read_again
    from console.session.reading import read_everything

    async def work(session: Session) -> int:
        wishes = found.wanted if found is not None else Wanted()
        known = await read_everything(session, wishes.connector_classes, wishes.subjects)
        code, blocked = opening.FAILED, True
        if found is not None:
            owned = await read_owned(known, session.context, partial(read_operations, session))
            wanted = file_edits(found.wanted, known, prune, owned)
            staging = staging_of(found, wanted, session.stage(wanted.edits), session.snapshot)
            session.replan(marked(session.plan, wanted.pruned))
            code, blocked = left_out(staging), staging.blocked
        elif kept is not None and _is_its_cluster(kept, known):
            edits = [each.edit for each in kept.staged]
            # Read the targets of all edits again: wanted states have no groups, records or moves, and an unread value
            # must not look like a change.
            await read_again(session, edits)
            report = session.stage(edits)
            left, code = _unmoved(kept, report, marked(session.plan, kept.pruned), session.snapshot, options)
            session.replan(left)
            blocked = bool(code)
        if blocked and not options.valid_only:
            return leave(code, "nothing was sent; --valid-only sends the rest")
        return await _apply(session, options, NO_OTHERS if code else NO_CHANGES) or code

    return opening.with_session(options, "apply", work)


async def _apply(session: Session, options: argparse.Namespace, empty: str) -> int:
    """Print the plan of a session and apply it. Return the exit code of `run_apply`. empty: the text to print for an
    empty plan.
    """
    from console.answers.plan_results import plan_table, report_tables, risk_lines
    from console.answers.results import Printer
    from console.plan.reconcile import ApplyOptions, ApplyReport
    from console.plan.risk_rules import accepted
    from console.plan.risks import risks
    from console.session.apply_flow import Asks, Flags, NotApplied, apply_flow
    from console.session.plan_facts import read_for_risks
    from console.session.retention_reading import read_deletions
    from console.session.terminal_front import Terminal, TerminalFront

    deletions = await read_deletions(session)
    facts = await read_for_risks(session, session.plan.staged)
    table = plan_table(session.plan, session.snapshot, deletions=deletions, facts=facts)
    printer = Printer(options.output)

    def show(report: ApplyReport) -> None:
        for each in report_tables(report, "apply"):
            printer(each)

    front = TerminalFront(session.context.name, Terminal(), show, complain)
    given = ApplyOptions(options.valid_only, options.force, risks=frozenset(accepted(options.accept)))
    if not options.yes:
        # The question will show all notes; without a terminal there is no question.
        notes = () if front.can_ask else table.notes
    else:
        told = set(risk_lines(given.hindering(risks(session.plan.staged, session.snapshot, facts))))
        notes = tuple(line for line in table.notes if line not in told)
    printer(replace(table, empty=empty, notes=notes))
    if not session.plan:
        return opening.DONE
    try:
        reports = await apply_flow(
            session,
            front,
            given,
            Asks(silent=options.yes),
            Flags(accept="apply --accept", force="--force overwrites them"),
        )
    except NotApplied as refused:
        complain(f"{refused.message}; {refused.hint}")
        return opening.UNAPPLIED if refused.risks else opening.FAILED
    return opening.DONE if reports[-1].ok else opening.FAILED


def _plan_file(names: list[str]) -> PlanFile | None:
    """Return the plan if `names` is one plan file; None for any other files, also for one that is not readable text.

    Raises FileProblem, a ValueError: the plan file is invalid.
    """
    from console.files.plan_file import is_plan, read_plan
    from console.files.reading import LARGEST

    if len(names) != 1 or not Path(names[0]).is_file():
        return None
    try:
        text = read_text(Path(names[0]), LARGEST)
    except (OSError, ValueError):
        return None
    return read_plan(text, names[0]) if is_plan(text) else None


def _is_its_cluster(kept: PlanFile, known: Snapshot) -> bool:
    """Return whether a plan was made for this cluster; if it was not, print the reason and return False."""
    from console.model.identity import same_cluster

    now = known.cluster.cluster_id
    if (now or kept.cluster_id) and not same_cluster(now, kept.cluster_id):
        of, this = (each or "a server without an id" for each in (kept.cluster_id, now))
        complain(f"the plan was made for cluster {of}; this is {this}")
        return False
    return True


def _unmoved(
    kept: PlanFile, report: StageReport, plan: Plan, known: Snapshot, options: argparse.Namespace
) -> tuple[Plan, int]:
    """Return the plan without the edits of values that have changed on the cluster since the plan was written, or
    that can't be read; with --force, such edits are kept. Also return the exit code so far. Print the refused
    edits and the changed values.
    """
    from console.answers.plan_results import NOT_READ_AGAIN, conflict_table
    from console.answers.results import Printer
    from console.files.plan_file import moved_since
    from console.model.failure import sentences
    from console.plan.plan import without
    from console.present import names

    for refused in report.refused:
        complain(sentences(refused.reason, refused.remedy).rstrip(". ") + ".")
    moved = moved_since(kept, plan, known)
    if changed := [each for each in moved if not each.is_unknown]:
        Printer(options.output)(conflict_table("moved", changed, "changed since the plan was made:"))
    if not moved or options.force:
        return plan, opening.FAILED if report.refused else opening.DONE
    for target, is_unknown in dict.fromkeys((each.staged.edit.target, each.is_unknown) for each in moved):
        mine = (each for each in moved if (each.staged.edit.target, each.is_unknown) == (target, is_unknown))
        keys = ", ".join(each.staged.edit.key or "all of it" for each in mine)
        why = NOT_READ_AGAIN if is_unknown else "changed since the plan was made"
        complain(f"left out, {why}: {names.target(target)}: {keys}; --force goes over it")
    # Even with --valid-only, send only edits whose former values are still those of the plan.
    return without(plan, {conflict.staged.edit.slot for conflict in moved}), opening.FAILED


# ``kac export``: the wanted state of a cluster as YAML for review.


def export_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac export``."""
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: standard output)")
    forms = "form of the file: kac's own, or Strimzi's KafkaTopic and KafkaUser"
    parser.add_argument("--as", dest="form", choices=("kac", "strimzi"), default="kac", help=forms)
    label = "with --as strimzi: the cluster's name in Kubernetes (default: the context's)"
    parser.add_argument("--label", metavar="NAME", help=label)


def run_export(options: argparse.Namespace) -> int:
    """Write the cluster's state as a file for `kac apply`.

    Returns:
        The exit code: 0 everything was written, 1 parts could not be read or nothing could be written, 2 no context.
    """
    from console.files.wanted import PARTS, by_levels, owned_lines, wanted_of
    from console.files.writing import yaml_text
    from console.model.config import topic_resource

    gc.disable()
    as_strimzi = options.form == "strimzi"
    state = opening.with_session(options, "export", partial(_read_state, logins=as_strimzi))
    if isinstance(state, int):
        return state
    known, context, owned = state
    failures = [each for each in known.failures if each.part in PARTS or (as_strimzi and each.part == Part.SCRAM)]
    missing = [f"{each.what}: {each.failure}" for each in failures]
    for line in missing:
        complain(f"could not be read: {line}")
    title = f"cluster {known.cluster.cluster_id}" + (f"; {len(missing)} parts could not be read" if missing else "")
    unread = [each.part for each in failures if not each.entity]
    wanted = wanted_of(known, owned)
    for line in owned_lines(owned):
        complain(f"note: left out: {line}")
    if as_strimzi:
        # Leave unread configs out: Strimzi's operator would take an empty list for the wanted state.
        topics = {
            name: each if topic_resource(name) in known.configs else replace(each, configs=None)
            for name, each in wanted.topics.items()
        }
        text = _as_strimzi(replace(wanted, topics=topics), known, title, unread, options.label or context)
    else:
        text = yaml_text(wanted, title, unread, by_levels(known))
    if options.output is None:
        put(text)
    elif not written(options.output, text, PRIVATE):
        return opening.FAILED
    return opening.FAILED if missing else opening.DONE


class _State(NamedTuple):
    """The snapshot of the cluster to export, the name of its context, and the configs that belong to running partition
    moves.
    """

    snapshot: Snapshot
    context: str
    owned: Mapping[ConfigPlace, str]


async def _read_state(session: Session, *, logins: bool) -> _State:
    """Read everything that a file can contain; with `logins` also the users that have SCRAM credentials.

    Errors of reads are in the snapshot's failures, except for features, whose error is printed.
    """
    from console.admin.errors import AdminError
    from console.session.operating import read_operations
    from console.session.owned_reading import read_owned
    from console.session.reading import read_everything

    await read_everything(session)
    if logins:
        await session.read_whole(Part.SCRAM)
    try:
        await session.read_whole(Part.FEATURES)
    except AdminError as error:
        complain(f"could not be read: features: {error.failure}")
    owned = await read_owned(session.snapshot, session.context, partial(read_operations, session))
    return _State(session.snapshot, session.context.name, owned)


def _as_strimzi(wanted: Wanted, known: Snapshot, title: str, unread: list[str], label: str) -> str:
    """Return a wanted state as resources of the Strimzi operator in YAML. Print the parts that these can't represent,
    and the side effects of their use.

    Args:
        title: the comment at the beginning.
        unread: the parts that could not be read.
        label: the name of the Kafka cluster in Strimzi's labels.
    """
    from console.files.foreign.strimzi import CLUSTER_LABEL, is_label, strimzi_text
    from console.model.codes import ScramMechanism

    by_scram_512 = ScramMechanism.parse("SCRAM_SHA_512")
    if not is_label(label):
        complain(
            f"note: {label} can't be a label in Kubernetes: without {CLUSTER_LABEL} no operator takes them; --label"
        )
    by_password = None
    if Part.SCRAM in known.read_at:
        by_password = {
            user for user, found in known.scram.items() if by_scram_512 in (each.mechanism for each in found)
        }
    written = strimzi_text(wanted, title, label if is_label(label) else None, unread, by_password)
    for line in (*(f"left out: {each}" for each in written.left_out), *written.to_do):
        complain(f"note: {line}")
    return written.text


# ``kac snapshot``: the whole state of a cluster as JSON.


def snapshot_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac snapshot``."""
    parser.add_argument("--output", choices=("json",), default="json", help="form of the state")
    parser.add_argument("--overrides", action="store_true", help="only values that are set on an entity itself")


def run_snapshot(options: argparse.Namespace) -> int:
    """Print the cluster's state as JSON.

    Returns:
        The exit code: 0 printed, 1 failed, or printed without the topics, 2 no context.
    """
    from console.answers.snapshot_json import write_snapshot
    from console.session.reading import read_everything

    # Stop the garbage collector: all objects made here live until the end, and it would scan them repeatedly.
    gc.disable()
    known = opening.with_session(options, "snapshot", partial(read_everything, subjects=()))
    if isinstance(known, int):
        return known
    out = stdout()
    write_snapshot(known, out, overrides=options.overrides)
    out.flush()
    if failures := known.failures:
        complain(f"warning: {len(failures)} parts could not be read, see errors in the document")
    return opening.FAILED if any(each.part == Part.TOPICS and not each.entity for each in failures) else opening.DONE
