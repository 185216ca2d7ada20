"""`kac transactions`: kafka-transactions' commands and options (TransactionsCommand, 4.3)."""

from __future__ import annotations

import argparse

from console.cli.noun import Carry, Noun, OptionsError, Statements
from console.model.numbers import LONG_MAX, LONG_MIN, natural_number, option, whole_number

_EXAMPLES = """\
examples:
  kac transactions -b broker1:9092 list --duration-filter 60000
  kac transactions -c prod describe --transactional-id payments-1
  kac transactions -c prod describe-producers --topic orders --partition 3
  kac transactions -c prod find-hanging --broker-id 2 --output kafka
  kac transactions -c prod abort --topic orders --partition 3 --start-offset 4711 --accept transaction-aborted=orders/3
"""

LIST, DESCRIBE, PRODUCERS, HANGING, ABORT = "list", "describe", "describe-producers", "find-hanging", "abort"
_LONG = option(whole_number, LONG_MIN, LONG_MAX)
_NATURAL = option(natural_number)

_BELONGING = {
    LIST: ("duration_filter", "transactional_id_pattern"),
    DESCRIBE: ("transactional_id",),
    PRODUCERS: ("topic", "partition", "broker_id"),
    HANGING: ("topic", "partition", "broker_id", "max_transaction_timeout"),
    ABORT: ("topic", "partition", "start_offset", "producer_id", "producer_epoch", "coordinator_epoch"),
}
"""Command -> its options, by their names in the namespace."""
_NEEDED = {DESCRIBE: ("transactional_id",), PRODUCERS: ("topic", "partition"), ABORT: ("topic", "partition")}


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--topic", metavar="NAME", help="a topic, of describe-producers, find-hanging and abort")
    add("--partition", metavar="N", type=_NATURAL, help="a partition of it")
    add("--transactional-id", metavar="ID", help="of describe")
    add("--duration-filter", metavar="MS", type=_LONG, help="of list: only those that have run longer")
    add("--transactional-id-pattern", metavar="RE", help="of list: only ids that match, as RE2 has it")
    add("--broker-id", metavar="ID", type=_NATURAL, help="of describe-producers and find-hanging: a replica's broker")
    add(
        "--max-transaction-timeout",
        metavar="MINUTES",
        type=_NATURAL,
        help="of find-hanging: how long a transaction may take; without it 15",
    )
    add("--start-offset", metavar="N", type=_NATURAL, help="of abort: where the transaction begins")
    add("--producer-id", metavar="N", type=_NATURAL, help="of abort: whose it is, in place of --start-offset")
    add("--producer-epoch", metavar="N", type=_NATURAL, help="with --producer-id: refused where it is another")
    add("--coordinator-epoch", metavar="N", type=_LONG, help="with --producer-id: refused where it is another")


def check(given: argparse.Namespace, action: str) -> None:
    """Raise OptionsError for what kafka-transactions refuses, in its words."""
    mine = _BELONGING[action]
    for names in _BELONGING.values():
        for name in names:
            if name not in mine and getattr(given, name) is not None:
                raise OptionsError(f"unrecognized arguments: '{_flag(name)}'")
    for name in _NEEDED.get(action, ()):
        if getattr(given, name) is None:
            raise OptionsError(f"argument {_flag(name)} is required")
    if action == HANGING:
        if given.topic is None and given.broker_id is None:
            raise OptionsError(
                "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
            )
        if given.partition is not None and given.topic is None:
            raise OptionsError("The --partition argument requires --topic to be provided")
    if action == ABORT:
        _check_abort(given)


def _check_abort(given: argparse.Namespace) -> None:
    if given.start_offset is None and given.producer_id is None:
        raise OptionsError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    if given.start_offset is None:
        for name in ("producer_epoch", "coordinator_epoch"):
            if getattr(given, name) is None:
                raise OptionsError(f"Missing required argument {_flag(name)}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _statements(_given: argparse.Namespace, action: str) -> Statements:
    raise OptionsError(f"{action} is no command of kac transactions")


def _carried(given: argparse.Namespace, action: str) -> Carry | None:
    check(given, action)
    from console.cli.kafka_tools import transaction_command as commands

    return {
        LIST: commands.list_,
        DESCRIBE: commands.describe,
        PRODUCERS: commands.describe_producers,
        HANGING: commands.find_hanging,
        ABORT: commands.abort,
    }[action]


NOUN = Noun(
    "transactions",
    "list and describe transactions, find and end those that hang",
    {},
    _options,
    _statements,
    _EXAMPLES,
    words={
        LIST: "the transactions of all coordinators",
        DESCRIBE: "one of them",
        PRODUCERS: "the producers of a partition, as its leader knows them",
        HANGING: "open transactions that no coordinator will end",
        ABORT: "end a hanging one",
    },
    carried=_carried,
    kafka=True,
)
