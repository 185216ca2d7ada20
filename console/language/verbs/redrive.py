"""``redrive``: sends dead letters again, each once.

redrive = "redrive" ["topic"] NAME ["where" CONDITION] ["to" NAME] ["max" N["/s"]]
"""

from __future__ import annotations

from console.language import arguments
from console.language.quoting import quote
from console.language.reader import Candidate, Expected, Reader, Role, What
from console.language.statements import BarStatement, Where, joined
from console.language.verb import CHANGE, StatementKind, Verb
from console.language.verbs.records import parse_condition
from console.model.dead_letters import Redrive
from console.model.numbers import is_decimal

MOST_A_SECOND = 1_000_000


class BeginRedrive(BarStatement, frozen=True):
    """The statement ``redrive``, which begins an operation that sends dead letters again."""

    goal: Redrive
    """The goal of the operation; the end offsets of the partitions are added when it begins."""
    most: int | None = None
    """Maximum number of letters sent per second; None for no limit."""


def _parse(reader: Reader) -> BeginRedrive:
    reader.take_keyword("topic")
    topic = arguments.named(reader, arguments.A_TOPIC)
    where = to = ""
    most: int | None = None
    words = ["where", "to", "max"]
    while (found := reader.take_keyword(*words)) is not None:
        words.remove(found)
        match found:
            case "where":
                where = parse_condition(reader, (topic,))
            case "to":
                to = arguments.named(reader, arguments.A_TOPIC)
            case _:
                most = _most(reader)
    reader.finish()
    return BeginRedrive(Redrive(topic, where, to), most)


def _most(reader: Reader) -> int:
    expected = Expected(What.ARGUMENT, "letters a second, as 100/s", offers=lambda _: [Candidate("100/s")])
    word = reader.take(expected, Role.VALUE)
    try:
        return letters_a_second(word.text)
    except ValueError as error:
        reader.fail(str(error), word)


def letters_a_second(text: str) -> int:
    """Return the letters per second in a text, ``100/s`` or ``100``. Raises ValueError: the text is not a rate."""
    number = text.removesuffix("/s")
    if not (is_decimal(number) and number.isdecimal() and 1 <= int(number) <= MOST_A_SECOND):
        raise ValueError(f"expected letters a second from 1/s to {MOST_A_SECOND}/s")
    return int(number)


def _text(statement: BeginRedrive) -> str:
    goal = statement.goal
    return joined(
        f"redrive topic {quote(goal.topic)}",
        f"where {quote(goal.where)}" if goal.where else "",
        f"to {quote(goal.to)}" if goal.to else "",
        f"max {statement.most}/s" if statement.most else "",
    )


VERBS = (
    Verb(
        "redrive",
        CHANGE,
        ("redrive topic NAME [where CONDITION] [to NAME] [max N/s]",),
        "Begin an operation that sends dead letters again, each exactly once",
        "Dead letters are records that a consumer could not process and sent to another topic. kac reads the "
        "headers of dead letters from Spring Kafka, Kafka Connect, Kafka Streams and share groups.\n\n"
        "kac first shows the letters by original topic and exception, the records that it would send, and the "
        "warnings. Then kac asks. Each letter goes to its original topic, or to the topic after `to`. Letters "
        "without such headers need `to`. CONDITION is a condition as in `records`.\n\n"
        "kac sends the first letter alone, and waits until a group has passed it. kac commits letters and "
        "positions in one transaction, so it sends no letter twice, even after a kill. W in a console, or `kac "
        "redrive --continue`, continues the redrive.",
        ("redrive topic orders.dlt", "redrive topic orders.dlt where 'value.total < 100' to orders max 50/s"),
        Where.BAR,
        parse=_parse,
        statements=(StatementKind(statement=BeginRedrive, text=_text),),
    ),
)
