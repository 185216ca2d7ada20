"""Every command of docs/operations.md is one: the options by the parsers, the statements by the grammar, warnings by
their names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from console.cli.main import COMMANDS, command_parser
from console.cli.moves import misused
from console.cli.noun import Found
from console.cli.nouns import noun
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import EditStatement, Where
from console.language.verbs import VERBS
from console.language.verbs.apply import Apply
from console.language.verbs.plan import ShowPlan
from console.operations.goals import goal_of
from console.plan.risk_rules import NAMES

TEXT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
ALL_LINES = [line for block in re.findall(r"```\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
LINES = [line for line in ALL_LINES if not line.startswith(":")]
TYPED = [line for line in ALL_LINES if line.startswith(":")]
INLINE = [" ".join(text.split()) for text in re.findall(r"(?<!`)`([^`]+)`(?!`)", TEXT)]
STATEMENTS = [text for text in INLINE if text.partition(" ")[0] in VERBS and len(text.split()) > 3]


def parsed_options(line: str) -> tuple[str, ...]:
    """The statements of a command line of kac, none where they follow from what is read. Ends the process, or raises
    OptionsError, where it is none."""
    _, name, *words = shlex.split(line)
    given = command_parser(next(each for each in COMMANDS if each.name == name)).parse_args(words)
    if name == "run":
        return tuple(given.execute)
    if name == "moves":
        assert given.goal == [] or goal_of(given.goal)
        assert misused(given) == ""
        return ()
    meant = noun(name).meaning(given, noun(name).action_of(given))
    return meant if isinstance(meant, tuple) and not isinstance(meant, Found) else ()


@pytest.mark.parametrize("line", LINES)
def test_each_command_is_understood(line: str) -> None:
    statements = [each for text in parsed_options(line) for each in parse(text)]
    assert statements or " run " not in line
    # Nothing is staged without being shown or sent.
    if any(isinstance(each, EditStatement) for each in statements) and " run " in line:
        assert isinstance(statements[-1], Apply | ShowPlan)


@pytest.mark.parametrize("line", TYPED)
def test_what_is_typed_into_the_command_bar_is_understood(line: str) -> None:
    """And is not for scripts."""
    assert parse(line, Where.BAR)
    with pytest.raises(ParseError, match=r"operation|partition"):
        parse(line.removeprefix(":"))


@pytest.mark.parametrize("text", STATEMENTS)
def test_each_statement_in_a_sentence_is_understood(text: str) -> None:
    assert parse(text, Where.BAR)


def test_warnings_have_the_names_and_subjects_that_are_asked_for() -> None:
    named = set(re.findall(r"--accept ([\w-]+)", TEXT)) | {text for text in INLINE if text in NAMES}
    assert named <= set(NAMES)
    typed = [line for line in LINES if re.search(r"--accept [\w-]+=", line)]
    for line in typed:
        statements = parse(parsed_options(line)[0])
        assert isinstance(statements[-1], Apply)
        (accepted,) = statements[-1].accept
        subject = accepted.partition("=")[2].split("/")[0]
        assert subject in line.partition(";")[0]


def test_every_verb_of_an_incident_is_there() -> None:
    verbs = {text.split()[0] for line in LINES for text in parsed_options(line)}
    assert {"elect", "cancel", "move", "reset", "skip", "clone", "delete", "abort", "unregister", "feature"} <= verbs
    assert {"records", "explain", "allow", "revoke"} <= verbs
