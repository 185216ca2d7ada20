"""Two verbs that kac does not have, one that changes and one that answers: what adds them to a copy of the tree, and a
walk through kac with them.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.walking import Said, completed, kac, tell

REGISTRY = "console/language/verbs/__init__.py"
MODULES = {
    "touch": '''"""``touch``: after how many messages a topic is flushed."""

from __future__ import annotations

from console.language.arguments import topic_name
from console.language.reader import Candidate, Expected, Reader, Role, What
from console.language.snapshot_parts import configs_of
from console.language.statements import EditStatement, Name, name_text
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.config import topic_resource
from console.plan.edits import SetConfig


class Touch(EditStatement, frozen=True):
    """``touch topic``: how many messages, as written."""

    topic: Name
    messages: str


def _parse(reader: Reader) -> Touch:
    name = topic_name(reader)
    expected = Expected(What.ARGUMENT, "how many MESSAGES", offers=lambda _snapshot: [Candidate("1"), Candidate("10")])
    return Touch(name, reader.take(expected, Role.VALUE).text)


_TOUCH = StatementKind(
    statement=Touch,
    text=lambda touch: f"touch topic {name_text(touch.topic)} {touch.messages}",
    needs=lambda touch, _selected: configs_of(topic_resource(touch.topic.text or "")),
    edits=lambda touch, staging: [
        SetConfig(topic_resource(staging.topic(touch.topic)), "flush.messages", touch.messages)
    ],
)

VERBS = (
    Verb(
        "touch",
        CHANGE,
        ("touch topic NAME MESSAGES",),
        "Stage that a topic is flushed after so many messages",
        "For a demonstration alone.",
        ("touch topic orders 1",),
        takes_away=True,
        also=("tap",),
        parse=_parse,
        statements=(_TOUCH,),
    ),
)
''',
    "tally": '''"""``tally``: how many topics there are."""

from __future__ import annotations

from console.language.reader import Reader
from console.language.snapshot_parts import whole_parts
from console.language.statements import QueryStatement
from console.language.verb import LOOK, StatementKind, Verb


class Tally(QueryStatement, frozen=True):
    """``tally``."""


_TALLY = StatementKind(
    statement=Tally,
    text=lambda _statement: "tally",
    needs=lambda _statement, _selected: whole_parts("topics"),
    lines=lambda _statement, snapshot: [f"{len(snapshot.topics)} topics"],
)

VERBS = (
    Verb(
        "tally",
        LOOK,
        ("tally",),
        "How many topics there are",
        parse=lambda _reader: Tally(),
        statements=(_TALLY,),
    ),
)
''',
}


def add_to(tree: Path, verb: str) -> tuple[str, ...]:
    """Add a verb to a tree, and return the files that this takes."""
    module = f"console/language/verbs/{verb}.py"
    (tree / module).write_text(MODULES[verb])
    registry = (tree / REGISTRY).read_text()
    for before, line in (("    undo,\n", f"    {verb},\n"), ("undo, revert", f"{verb}, ")):
        assert registry.count(before) == 1
        registry = registry.replace(before, line + before)
    (tree / REGISTRY).write_text(registry)
    return module, REGISTRY


def walk() -> Said:
    """Go through kac with the verbs, on an embedded cluster: by step the exit code, and what was said."""
    from console.cli.manual import pages
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec
    from console.language.errors import ParseError
    from console.language.grammar import parse, read
    from console.language.needs import needs
    from console.language.statements import Where
    from console.language.unparse import unparse
    from console.language.verb_help import verb_lines

    said: dict[str, tuple[int, str]] = {}
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        at = ("-b", cluster.bootstrap)
        topic = "checkout.orders"
        said["staged"] = kac("run", *at, "-e", f"touch topic {topic} 7; plan")
        said["applied"] = kac("run", *at, "-e", f"touch topic {topic} 7; apply --yes")
        said["described"] = kac("run", *at, "-e", f"describe topic {topic} flush.messages")
        said["taken back"] = kac("run", *at, "-e", "revert 1; apply --yes")
        said["of no topic"] = kac("run", *at, "-e", "touch topic checkout.order 7")
        said["answered"] = kac("run", *at, "-e", "tally")
        said["answered as JSON"] = kac("run", *at, "--output", "json", "-e", "tally")
    (statement,) = parse("touch topic 'a b' 7")
    said["written"] = 0, unparse(statement)
    said["as elsewhere"] = 0, unparse(*parse("tap topic a 7", Where.BAR))
    said["needed"] = 0, repr(sorted(needs(statement).topics))
    said["helped"] = 0, "\n".join("".join(text for text, _ in line) for line in verb_lines("touch", 100))
    said["completed"] = 0, " ".join(each for text in ("tou", "touch ", "touch topic a ") for each in completed(text))
    said["coloured"] = 0, " ".join(mark.role.value for mark in read("touch topic a 7").marks)
    for word in ("toch", "tch"):
        try:
            parse(word)
        except ParseError as error:
            said[word] = 2, str(error)
    said["in the manual"] = 0, pages.reference()
    return said


if __name__ == "__main__":
    tell(walk)
