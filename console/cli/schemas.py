"""``kac schemas``: lists and changes the subjects of the context's schema registry."""

from __future__ import annotations

import argparse

from console.cli import noun as cli_noun
from console.language.quoting import DEFAULT_NAME, quote, quote_pattern
from console.model.entity_types import BY_WORD
from console.model.numbers import natural_number, option

_EXAMPLES = """\
examples:
  kac schemas -c prod --list
  kac schemas -c prod --list --subject 'orders-*' --output json
  kac schemas -c prod --describe --subject orders-value
  kac schemas -c prod --register --subject orders-value --schema orders.avsc --validate-only
  kac schemas -c prod --alter --subject orders-value --compatibility FULL
  kac schemas -c prod --alter --subject-defaults --mode READONLY
  kac schemas -c prod --delete --subject orders-value --number 3 --yes
  kac schemas -c prod --undelete --subject orders-value
"""
_KEYS = {key.name: key.values for key in BY_WORD["schema"].keys}


def _options(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--subject", metavar="NAME", help="the subject; with --list also a pattern")
    one.add_argument("--subject-defaults", action="store_true", help="the default of all subjects")
    add = parser.add_argument
    add("--number", metavar="N", type=option(natural_number), help="with --delete and --undelete: the version")
    add("--schema", metavar="FILE", help="with --register: the file with the schema")
    add(
        "--type",
        choices=("AVRO", "PROTOBUF", "JSON"),
        type=str.upper,
        help="with --register: the type (default: the file shows it)",
    )
    add(
        "--reference",
        metavar="NAME:SUBJECT:VERSION",
        action="append",
        default=[],
        help="with --register: a schema that this one refers to; may be repeated",
    )
    for key, values in _KEYS.items():
        add(
            f"--{key}",
            type=str.upper,
            choices=(*values, "DEFAULT"),
            help=f"with --alter: the {key}; DEFAULT to inherit",
        )


def _meaning(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    if action == "list":
        name = f" {quote_pattern(given.subject)}" if given.subject is not None else ""
        return (f"list schemas{name}",)
    if given.subject is None and not given.subject_defaults:
        raise cli_noun.OptionsError(f"--{action} needs --subject, or --subject-defaults")
    subject = DEFAULT_NAME if given.subject_defaults else quote(given.subject)
    if action == "describe":
        return (f"describe schema {subject}",)
    if action == "alter":
        return _alteration(given, subject)
    if given.subject_defaults:
        raise cli_noun.OptionsError(f"--{action} is for a subject, not for the default of all")
    if action == "register":
        words = [f"schema {subject} @{cli_noun.need(given.schema, '--schema', action)}"]
        words += [f"type={given.type}"] if given.type is not None else []
        words += [cli_noun.pair(f"references={','.join(given.reference)}")] if given.reference else []
        return (" ".join(words),)
    version = f" version {given.number}" if given.number is not None else ""
    return (f"{action} schema {subject}{version}",)


def _alteration(given: argparse.Namespace, subject: str) -> cli_noun.Statements:
    wanted = {key: getattr(given, key) for key in _KEYS if getattr(given, key) is not None}
    if not wanted:
        raise cli_noun.OptionsError(f"--alter needs {' or '.join(f'--{key}' for key in _KEYS)}")
    unset = [key for key, value in wanted.items() if value == "DEFAULT"]
    changes = " ".join(f"{key}={value}" for key, value in wanted.items() if key not in unset)
    return (
        *([f"set schema {subject} {changes}"] if changes else []),
        *([f"unset schema {subject} {' '.join(unset)}"] if unset else []),
    )


SCHEMAS = cli_noun.Noun(
    "schemas",
    {
        "list": "the subjects of the schema registry",
        "describe": "a subject: its versions, configs, the topics that use it, and the changes in its newest version",
        "register": "register a schema as the newest version of a subject",
        "alter": "set the compatibility or the mode of a subject, or of the default",
        "delete": "delete a subject or a version of it, softly",
        "undelete": "register a soft-deleted version again",
    },
    _options,
    _meaning,
    _EXAMPLES,
    destructive=("delete",),
)
