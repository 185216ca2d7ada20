"""``kac lint``: what stands wrong in a cluster before it hurts."""

from __future__ import annotations

import argparse
import gc
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from console.cli.files import CHANGES
from console.cli.opening import DONE, USAGE, with_session
from console.terminal import complain, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.lint.report import Report
    from console.lint.rule import Rule


def lint_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac lint``."""
    rule = "only this rule, and all its findings; can be given again"
    parser.add_argument("--rule", metavar="NAME", action="append", default=[], help=rule)
    parser.add_argument(
        "--skip", metavar="NAME", action="append", default=[], help="leave this rule out; can be given again"
    )
    parser.add_argument("--all", action="store_true", help="list every finding, however many a rule has")
    parser.add_argument(
        "--exit-code", action="store_true", help="exit with 3 where something is found that is not accepted"
    )
    parser.add_argument("--output", choices=("text", "json", "junit"), default="text", help="form of the report")


def run_lint(options: argparse.Namespace) -> int:
    """Print what the rules find in the cluster.

    Returns:
        The exit code: 0 printed, 1 no broker answers, 2 no context, or no such rule, 3 with --exit-code: something is
        found that is not accepted.
    """
    rules = _chosen(options)
    if rules is None:
        return USAGE
    from console.lint.report import lint, partly
    from console.present.names import target
    from console.session.lint_reading import read_for_lint

    # All objects made here live until the end: the collector would scan them repeatedly.
    gc.disable()

    seen = with_session(options, "lint", partial(read_for_lint, rules=rules))
    if isinstance(seen, int):
        return seen
    report = lint(seen, target, rules)
    _print(report, [*partly(seen)], seen.snapshot.cluster.cluster_id or "without an id", options)
    return CHANGES if options.exit_code and report.open else DONE


def _chosen(options: argparse.Namespace) -> Sequence[Rule] | None:
    """Return the rules of the options; None after printing a name that no rule has."""
    from console.lint.rules import BY_NAME, RULES

    for name in (*options.rule, *options.skip):
        if name not in BY_NAME:
            near = get_close_matches(name, BY_NAME, n=1)
            complain(f"there is no rule {name}" + (f"; did you mean {near[0]}?" if near else "; docs/lint.md has all"))
            return None
    return [each for each in RULES if (each.name in options.rule or not options.rule) and each.name not in options.skip]


def _print(report: Report, missing: Sequence[str], cluster: str, options: argparse.Namespace) -> None:
    from console.answers.lint import junit_text, report_data, report_detail
    from console.answers.results import Printer
    from console.model.numbers import json_text

    if options.output == "junit":
        put(junit_text(report, missing, cluster))
    elif options.output == "json":
        put(json_text(report_data(report, missing)) + "\n")
    else:
        Printer()(report_detail(report, missing, whole=options.all or bool(options.rule)))
