"""``kac contexts``: prints the contexts found on this machine, where each is configured, and what is wrong with it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.contexts import Context, Contexts
from console.contexts.context import format_bootstrap
from console.contexts.own_file import own_path
from console.present.text import clean
from console.terminal import put


def contexts_options(parser: argparse.ArgumentParser) -> None:
    """None."""
    parser.set_defaults(run=run_contexts)


def run_contexts(options: argparse.Namespace) -> int:  # noqa: ARG001 - as every command
    """Print them; 0."""
    from console.contexts import load

    put(f"{listing(load(os.environ, Path.home()))}\n")
    return 0


# `kac contexts`: what is configured on this machine, where it stands, and what is wrong with it.

NONE = """No contexts are configured. Name a cluster with -b HOST:PORT or --command-config FILE, or put one into {file}:

  [contexts.prod]
  "bootstrap.servers" = "broker1:9092,broker2:9092"
"""


def listing(found: Contexts) -> str:
    """The contexts as lines; `*` marks the one that is used where nobody names another."""
    file = found.surroundings.shown(own_path(found.surroundings))
    rows: list[tuple[str, ...]] = [("", "Name", "Brokers", "Security", "Guards", "From")]
    rows += [_context_row(context, found.current) for context in found.contexts]
    lines = _aligned(rows) if len(rows) > 1 else NONE.format(file=file).splitlines()
    lines += [f"! {clean(b.name)}: {clean(b.problem)}  ({clean(b.origin)})" for b in found.broken]
    lines += [f"! {clean(problem)}" for problem in found.problems]
    return "\n".join(lines)


def _context_row(context: Context, current: str | None) -> tuple[str, ...]:
    settings = context.settings
    security = settings.security_protocol + (f" {settings.sasl.mechanism}" if settings.sasl else "")
    guards = [name for name, held in (("read-only", context.read_only), ("confirm", context.confirm)) if held]
    guards += ["cluster id"] if context.cluster_id else []
    mark = "*" if context.name == current else ""
    brokers = format_bootstrap(settings.bootstrap)
    return (mark, clean(context.name), clean(brokers, 60), security, ", ".join(guards) or "-", clean(context.origin))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
