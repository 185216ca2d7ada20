"""``kac lint``: finds risky settings before they cause harm, in the present state of a cluster, or in the state after
files are applied.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from console.cli.files import CHANGES, left_out, meant, read
from console.cli.opening import DONE, USAGE, with_session
from console.terminal import complain, leave, put

if TYPE_CHECKING:
    from console.answers.lint import Where
    from console.files.read import DescribedCluster, Read
    from console.lint.report import Report
    from console.lint.rule import Rule, Seen


_NAMES_A_CLUSTER = ("bootstrap_server", "bootstrap_controller", "command_config")


def lint_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac lint``."""
    add = parser.add_argument
    files = (
        "wanted files, as for kac apply; may be repeated. kac reports only findings that the files cause, or that are "
        "on entities of the files. The sections lint: of the files accept findings"
    )
    add("-f", "--file", metavar="FILE", action="append", default=[], help=files)
    offline = (
        "with -f: judge the files without a cluster. kac assumes three brokers with Kafka's own defaults, or the "
        "brokers of Strimzi's Kafka and KafkaNodePool. If the files have several clusters, -c selects one"
    )
    add("--offline", action="store_true", help=offline)
    rule = "only this rule, with all its findings; may be repeated"
    add("--rule", metavar="NAME", action="append", default=[], help=rule)
    add("--skip", metavar="NAME", action="append", default=[], help="leave this rule out; may be repeated")
    add("--all", action="store_true", help="list all findings of each rule")
    add("--exit-code", action="store_true", help="exit with 3 if there is a finding that is not accepted")
    add("--output", choices=("text", "json", "junit"), default="text", help="form of the report")


def run_lint(options: argparse.Namespace) -> int:
    """Print the findings of the rules on the cluster, or on the state that the cluster would have after files are
    applied.

    Returns:
        The exit code: 0 printed; 1 no broker answers, or a part of the files can't be staged; 2 no context, no such
        rule, or invalid files; 3 with --exit-code, if there is a finding that is not accepted.
    """
    if options.offline and (not options.file or any(hasattr(options, each) for each in _NAMES_A_CLUSTER)):
        return leave(USAGE, "--offline judges files without a cluster: name files with -f, and no cluster")
    rules = _chosen(options)
    context = getattr(options, "context", None)
    files = None
    if options.file and rules is not None:
        files = read(options.file, context, described=options.offline)
    if rules is None or (options.file and files is None):
        return USAGE
    if options.offline and files is not None:
        described = _described(files, context)
        if described is None:
            return USAGE
        with _by_files(options, described) as options:
            return _looked(options, rules, files)
    return _looked(options if files is None else meant(options, files), rules, files)


def _described(files: Read, context: str | None) -> DescribedCluster | None:
    """Return the cluster that the files describe; a cluster without settings if they describe none. Also record, in
    `files`, the place of each of the cluster's settings, so that a finding names the line of its setting. If the
    files describe several clusters or are invalid, print the reason and return None.
    """
    from console.embedded.config_definitions import checked_value, release_configs
    from console.embedded.spec import RELEASE_NAMES
    from console.files.read import DescribedCluster
    from console.model.config import CLUSTER_DEFAULT, broker_resource

    names = sorted(files.described)
    name = next((each for each in (context, files.cluster) if each in files.described), names[0] if names else "")
    if len(names) > 1 and name not in (context, files.cluster):
        complain(f"the files describe clusters {', '.join(names)}; --context NAME says which")
        return None
    found = files.described.get(name, DescribedCluster())
    known = release_configs(RELEASE_NAMES[-1]).broker
    problems = [str(each) for each in found.problems]
    for key, value in found.configs.items():
        try:
            if key in known:
                checked_value(known[key], value)
        except ValueError as error:
            source, line = found.places[key]
            problems.append(f"{source}:{line}: {key}: {error}")
    for problem in problems:
        complain(problem)
    for key, place in found.places.items():
        files.places.setdefault((CLUSTER_DEFAULT, key), place)
        for broker in range(1, found.brokers + 1) if key else ():
            files.places.setdefault((broker_resource(broker), key), place)
    return None if problems else found


@contextmanager
def _by_files(options: argparse.Namespace, described: DescribedCluster) -> Iterator[argparse.Namespace]:
    """Run an embedded cluster inside the ``with`` block, and yield the options that name it. It has the settings and
    brokers that the files describe, else three brokers in three racks with Kafka's defaults.
    """
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import MOST_BROKERS, RACKS, ClusterSpec

    brokers = min(described.brokers, MOST_BROKERS) or len(RACKS)
    racks = RACKS if brokers == len(RACKS) else {}
    with run_in_thread(ClusterSpec(brokers=brokers, racks=racks, static_configs=described.configs)) as cluster:
        known = {name: value for name, value in vars(options).items() if name != "context"}
        yield argparse.Namespace(**{**known, "bootstrap_server": cluster.bootstrap})


def _looked(options: argparse.Namespace, rules: Sequence[Rule], files: Read | None) -> int:
    """Read the cluster, print the report, and return the exit code of `run_lint`."""
    from console.lint.rules import RULES
    from console.session.lint_reading import read_for_lint

    # Stop the garbage collector: all objects made here live until the end, and it would scan them repeatedly.
    gc.disable()
    # Read everything if there are files, which may have entities of any kind.
    needed = RULES if files is not None else rules
    subjects = files.wanted.subjects if files is not None else ()
    seen = with_session(options, "lint", partial(read_for_lint, rules=needed, subjects=subjects))
    if isinstance(seen, int):
        return seen
    return _report(seen, rules, files, options)


def _report(seen: Seen, rules: Sequence[Rule], files: Read | None, options: argparse.Namespace) -> int:
    """Print the report of the rules, and return the exit code of `run_lint`."""
    from console.lint.report import can_look, lint, partly
    from console.present.names import target

    code, missing = DONE, [*partly(seen)]
    if files is None:
        report = lint(seen, target, rules)
    else:
        from console.files.linting import wished

        found = wished(files, seen, [rule for rule in rules if can_look(seen, rule)], alone=options.offline)
        code = left_out(found.staging)
        missing += found.unjudged
        report = lint(found.after, target, rules, found.counts)
    _print(report, missing, seen.snapshot.cluster.cluster_id or "without an id", files, options)
    return code or (CHANGES if options.exit_code and report.open else DONE)


def _chosen(options: argparse.Namespace) -> Sequence[Rule] | None:
    """Return the rules that the options choose: those of --rule, or all rules without it, except for those of
    --skip. If there is no rule of a given name, print that and return None.
    """
    from console.answers.lint import did_you_mean
    from console.lint.rules import BY_NAME, RULES

    for name in (*options.rule, *options.skip):
        if name not in BY_NAME:
            complain(f"there is no rule {name}{did_you_mean(name) or '; docs/lint.md has them all'}")
            return None
    return [each for each in RULES if (each.name in options.rule or not options.rule) and each.name not in options.skip]


def _print(
    report: Report, missing: Sequence[str], cluster: str, files: Read | None, options: argparse.Namespace
) -> None:
    from console.answers.lint import junit_text, report_data, report_detail
    from console.answers.results import Printer
    from console.model.numbers import json_text

    where: Where = lambda _found: ""  # noqa: E731
    if files is not None:
        from console.files.linting import place_of

        where = partial(place_of, files)
    if options.output == "junit":
        put(junit_text(report, missing, where, cluster))
    elif options.output == "json":
        put(json_text(report_data(report, missing, where)) + "\n")
    else:
        Printer()(report_detail(report, missing, where, whole=options.all or bool(options.rule)))
