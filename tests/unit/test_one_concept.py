"""A type of entity is one record, a verb one module, a column or a cause one entry: a new one is a few lines, and one
that there is has its name in few places."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from console.model.codes import ResourceType
from console.model.entity_types import BY_NUMBER, ENTITY_TYPES, FileForm, Lister, unknown
from console.model.parts import Part
from tests.support import (
    throwaway_cause,
    throwaway_column,
    throwaway_kind,
    throwaway_part,
    throwaway_type,
    throwaway_verb,
)
from tests.support.part_literals import part_literals
from tests.support.patience import PATIENCE
from tests.support.walking import Said, copy_of_product, touched

ROOT = Path(__file__).parents[2]
MOST_FILES = 6
"""That a new type of resource may touch."""
MOST_MODULES = 8
"""That may name a type of resource: the table, its constant, and what is said of it alone."""
MOST_OF_A_VERB = 2
"""Files that a new verb touches: its module and the registry."""
MOST_OF_A_PART = 8
"""That a new part touches which is read, listed and watched: its API, the table, its field, how it is read and how
often, its columns, and what lists it."""
MOST_OF_A_KIND = 3
"""Files that a new kind of edit touches beside its verb's, where a request of another kind carries it."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with one more type of resource."""
    made = copy_of_product(tmp_path_factory.mktemp("tree"))
    throwaway_type.add_to(made)
    return made


@pytest.fixture(scope="module")
def said(tree: Path) -> Said:
    """What kac of that tree says of the type."""
    return walked(tree, throwaway_type.__file__, str(tree))


def walked(tree: Path, script: str, *arguments: str) -> Said:
    ran = subprocess.run(
        [sys.executable, script, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: Said = {step: (code, text) for step, (code, text) in json.loads(ran.stdout).items()}
    return found


def test_a_new_type_touches_few_files(tree: Path) -> None:
    assert touched(tree) == sorted((throwaway_type.TABLE, throwaway_type.DEFINITIONS))
    assert len(touched(tree)) <= MOST_FILES


def test_a_new_type_is_set_by_the_broker_that_its_name_means(said: Said) -> None:
    for step in ("set", "set elsewhere"):
        code, text = said[step]
        assert (code, "1 request, 1 entity ok, 0 failed" in text) == (0, True), text


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        ("described", ["probe 2 2 overrides of 2", "O pace.ms 5000 5 s probe", "O tags a,b probe"]),
        ("as by kafka-configs", ["Dynamic configs for probe 2 are:"]),
        ("listed", ["Name Pace ms Tags", "2 5000 a,b"]),
        ("exported", ["probes:", '"2":', 'pace.ms: "5000" # 5 s', 'tags: "a,b"', '"3":', 'pace.ms: "250"']),
        ("compared", ["pace.ms 5000 (probe) 250 (probe)", 'tags a,b (probe) "" (default)']),
        ("of a file", ["probe 2 pace.ms set 5000 (probe) 7000 (probe) staged"]),
        ("taken back", ["probe 3 pace.ms unset 250 (probe) 1000 (default) staged", "probe 3 applied"]),
        ("completed", ["probe pace.ms= tags="]),
        ("completed by the shell", ["2", "3"]),
    ],
)
def test_a_new_type_is_known_everywhere(said: Said, step: str, lines: list[str]) -> None:
    code, text = said[step]
    assert code == 0, text
    found = [" ".join(line.split()) for line in text.splitlines()]
    assert [line for line in lines if line not in found] == [], text


def test_a_new_type_is_journalled(said: Said) -> None:
    code, text = said["journalled"]
    assert code == 0
    assert re.search(r"^2 .* probe 3 +pace\.ms +1000 \(default\) +250 \(probe\) +applied$", text, re.MULTILINE)
    assert re.search(r'^1 .* probe 2 +tags +"" \(default\) +a,b \(probe\) +applied$', text, re.MULTILINE)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("misnamed", "expected the number of a broker, one digit, not '12'"),
        ("misnamed in a file", "'12' is no probe's id; write one digit"),
        ("without a default", "expected the number of a broker, one digit, not '<default>'"),
    ],
)
def test_a_new_types_names_are_checked(said: Said, step: str, words: str) -> None:
    code, text = said[step]
    assert code == 2
    assert words in text


def test_a_type_is_named_in_few_modules() -> None:
    named = re.compile("client.?metrics", re.IGNORECASE)
    found = sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "console").rglob("*.py") if named.search(path.read_text())
    )
    assert throwaway_type.TABLE in found
    assert len(found) <= MOST_MODULES, found


def test_no_two_types_have_a_word_number_or_source_in_common() -> None:
    resources = BY_NUMBER.values()
    for of in (
        [each.word for each in ENTITY_TYPES],
        [each.kafka_type for each in ENTITY_TYPES],
        [each.number for each in resources],
        [each.own_source for each in resources],
        [each.section for each in resources if each.form is not FileForm.NOWHERE],
    ):
        assert len(set(of)) == len(of)
    # Version 0 of the list of resources does not say of which type they are.
    assert sum(each.listed is not None and each.listed.version == 0 for each in resources) == 1
    assert all(each.listed is not None for each in resources if each.lister is Lister.RESOURCES)


def test_a_type_of_a_newer_broker_keeps_its_number() -> None:
    newer = ResourceType(65)
    assert newer.entity == unknown(65)
    assert (newer.entity.word, newer.entity.kafka_word, newer.entity.own_source) == ("UNKNOWN(65)", "UNKNOWN(65)", 0)


# -- verbs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verbose_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with two more verbs."""
    made = copy_of_product(tmp_path_factory.mktemp("tree"))
    for verb in throwaway_verb.MODULES:
        throwaway_verb.add_to(made, verb)
    return made


@pytest.fixture(scope="module")
def spoken(verbose_tree: Path) -> Said:
    """What kac of that tree says with the verbs."""
    return walked(verbose_tree, throwaway_verb.__file__)


@pytest.mark.parametrize("verb", throwaway_verb.MODULES)
def test_a_new_verb_touches_its_module_and_the_registry(tmp_path: Path, verb: str) -> None:
    tree = copy_of_product(tmp_path)
    assert touched(tree) == []
    added = throwaway_verb.add_to(tree, verb)
    assert touched(tree) == sorted(added)
    assert len(touched(tree)) <= MOST_OF_A_VERB


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        ("staged", 3, ["flush.messages", "7 (topic)"]),
        ("applied", 0, ["1 request, 1 entity ok, 0 failed"]),
        ("described", 0, ["flush.messages", "7"]),
        ("taken back", 0, ["checkout.orders", "flush.messages", "unset", "applied"]),
        ("of no topic", 1, ["column 13: there is no topic 'checkout.order'"]),
        ("answered", 0, ["tally", " topics"]),
        ("answered as JSON", 0, ['"lines": ["', " topics"]),
        ("written", 0, ["touch topic 'a b' 7"]),
        ("as elsewhere", 0, ["touch topic a 7"]),
        ("needed", 0, ["['a b']"]),
        ("helped", 0, ["touch topic NAME MESSAGES", "Stage that a topic is flushed", "For a demonstration alone."]),
        ("completed", 0, ["touch topic 1 10"]),
        ("coloured", 0, ["verb keyword name value"]),
        ("toch", 2, ["did you mean 'touch'?"]),
        ("in the manual", 0, ["touch topic NAME MESSAGES", "How many topics there are"]),
    ],
)
def test_a_new_verb_is_known_everywhere(spoken: Said, step: str, code: int, words: list[str]) -> None:
    found, text = spoken[step]
    assert (found, [each for each in words if each not in text]) == (code, []), text


def test_a_new_verb_that_takes_away_is_proposed_for_one_slip_alone(spoken: Said) -> None:
    assert "did you mean 'touch'?" not in spoken["tch"][1]


# -- columns -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wider(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """What kac of a tree says whose nouns have one more column each."""
    tree = copy_of_product(tmp_path_factory.mktemp("tree"))
    for noun in throwaway_column.COLUMNS:
        throwaway_column.add_to(tree, noun)
    return walked(tree, throwaway_column.__file__)


@pytest.mark.parametrize("noun", throwaway_column.COLUMNS)
def test_a_new_column_touches_one_file(tmp_path: Path, noun: str) -> None:
    tree = copy_of_product(tmp_path)
    (table,) = throwaway_column.add_to(tree, noun)
    assert touched(tree) == [table]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("listed", ["Internal  Led by", f"{throwaway_column.TOPIC} "]),
        ("filtered", ["no topics match"]),
        ("as JSON", [f'"name": "{throwaway_column.TOPIC}"', '"leads": 3']),
        ("described", ['"leads": 3']),
        ("as CSV", ["name partition_count", "leads"]),
        ("completed", ["leads"]),
        ("in the manual", ["`internal`, `leads`"]),
        ("among the keys", ["`K` lead"]),
        ("drawn", ["Lead", throwaway_column.TOPIC]),
        ("usage", ["Minutes", "alice / *"]),
        ("usage as JSON", ['"times": 3']),
        ("usage drawn", ["Min: 3"]),
        ("usage sorted", ["M"]),
        ("moves", ["no partition moves"]),
        ("moves by text", ["Targets", "1,2,3"]),
        ("moves as JSON", ['"targets": 3']),
        ("moves drawn", ["Targ: 3"]),
        ("events as JSON", ['"many": false']),
        ("events drawn", ["Many: one"]),
    ],
)
def test_a_new_column_is_shown_everywhere(wider: Said, step: str, words: list[str]) -> None:
    code, text = wider[step]
    assert (code, [each for each in words if each not in text]) == (0, []), text


def test_a_new_column_sorts_the_pane(wider: Said) -> None:
    listed = {each["name"]: each["leads"] for each in json.loads(wider["as JSON"][1])["topics"]}
    table = [line.partition("──")[0] for line in wider["sorted"][1].splitlines()]  # without the details beside it
    drawn = [word for line in table for word in line.split() if word in listed]
    shown = list(dict.fromkeys(drawn))
    assert len(shown) > 3
    assert shown == sorted(shown, key=lambda name: (-listed[name], name))


# -- causes, kinds of edits --------------------------------------------------------------------------------------------


def test_a_new_cause_touches_one_file(tmp_path: Path) -> None:
    tree = copy_of_product(tmp_path / "tree")
    (module,) = throwaway_cause.add_to(tree)
    assert touched(tree) == [module]
    said = walked(tree, throwaway_cause.__file__, str(tmp_path))
    for step, words in {
        "named": ["HIGH         there are ", "many-topics, certain", "topics are described (Metadata)"],
        "as JSON": ['"cause": "many-topics"', '"text": "ask whose they are"'],
        "in metrics": ['kac_triage_cause{cause="many-topics"'],
    }.items():
        code, text = said[step]
        assert (code, [each for each in words if each not in text]) == (4, []), text


def test_a_new_kind_of_edit_touches_few_files(tmp_path: Path) -> None:
    tree = copy_of_product(tmp_path)
    throwaway_kind.add_to(tree)
    of_kind, of_request, of_verb = throwaway_kind.OF_KIND, throwaway_kind.OF_REQUEST, throwaway_kind.OF_VERB
    assert touched(tree) == sorted((*of_kind, *of_request, *of_verb))
    assert len(of_kind) <= MOST_OF_A_KIND
    said = walked(tree, throwaway_kind.__file__)
    for step, code, words in (
        ("staged", 3, ["user zoe", "request_percentage", "50 %"]),
        ("applied", 0, ["1 request, 1 entity ok, 0 failed"]),
        ("described", 0, ["request_percentage", "50 %"]),
        ("not needed", 0, ["that is its share already"]),
        ("journalled", 0, ["user zoe", "50 %", "applied"]),
        ("taken back", 0, ["1 request, 1 entity ok, 0 failed"]),
        ("gone", 0, ['"quotas": []']),
    ):
        found, text = said[step]
        assert (found, [each for each in words if each not in text]) == (code, []), (step, text)


# -- parts of the snapshot ---------------------------------------------------------------------------------------------


def test_a_new_part_touches_few_files(tmp_path: Path) -> None:
    tree = copy_of_product(tmp_path)
    throwaway_part.add_to(tree)
    assert touched(tree) == sorted({*throwaway_part.MODULES, *(file for file, *_ in throwaway_part.INSERTED)})
    assert len(touched(tree)) <= MOST_OF_A_PART
    said = walked(tree, throwaway_part.__file__)
    for step, words in {
        "listed": ["Rack  Brokers", "none        3"],
        "as JSON": ['"racks": [{"name": "none", "brokers": 3}]'],
        "filtered": ["no racks match"],
        "watched": ["watching for 3 s"],
        "not read yet": ["racks (not read yet)"],
        "completed": ["racks"],
    }.items():
        code, text = said[step]
        assert (code, [each for each in words if each not in text]) == (0, []), (step, text)


def test_parts_have_their_names_in_the_table_alone() -> None:
    files = sorted((ROOT / "console").rglob("*.py"))
    found = {str(file.relative_to(ROOT)): literals for file in files if (literals := [*part_literals(file, {*Part})])}
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        'known = "topics" in snapshot.read_at',
        'why = [each for each in snapshot.failures if each.part in ("topics", "acls")]',
        'at = snapshot.read_at.get("topics")',
        'at = snapshot.read_at["topics"]',
        'need = whole_parts("topics")',
        'known = draft.read("topics")',
        'need = Needs(parts=frozenset({"topics"}))',
        'snapshot = refresh.with_failures(snapshot, "topics", [])',
        'PARTS = frozenset({"topics"})',
    ],
)
def test_names_of_parts_as_literals_are_found(tmp_path: Path, line: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"{line}\n")
    assert [*part_literals(file, {*Part})] == ["1: acls", "1: topics"][line.count("acls") ^ 1 :]


# A test of one verb stands in `tests/language/verbs/test_<its module>.py`; the other tests of the language speak `set`.

REGISTRY = "console.language.verbs"
SPOKEN = "alter"
SEED = 4
OPTIONS = "-q -p no:cacheprovider -p no:xdist --tb=no -rfE --continue-on-collection-errors"


def modules_of_verbs() -> set[str]:
    return {path.stem for path in (ROOT / "console/language/verbs").glob("*.py")} - {"__init__"}


def stood_on() -> set[str]:
    """The modules of verbs that something of the product imports, beside the registry."""
    imports = grimp.build_graph("console", cache_dir=None)
    return {
        verb
        for verb in modules_of_verbs()
        if imports.find_modules_that_directly_import(f"{REGISTRY}.{verb}") - {REGISTRY}
    }


def without(verb: str, tree: Path) -> set[str]:
    """The modules of tests of the language that fail in a copy of the tree without a verb."""
    copy_of_product(tree)
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    (tree / f"console/language/verbs/{verb}.py").unlink()
    registry = tree / throwaway_verb.REGISTRY
    kept, places = re.subn(rf"^    {verb},\n|(?<=[( ]){verb}(, |(?=\)$))", "", registry.read_text(), flags=re.MULTILINE)
    assert places == 2
    registry.write_text(kept)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS.split(), "tests/language"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert re.search(r"^\d+ passed, |, \d+ passed", ran.stdout, re.MULTILINE), ran.stdout[-2_000:] + ran.stderr
    return set(re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)", ran.stdout, re.MULTILINE))


def test_a_verb_that_nothing_stands_on_has_its_own_tests() -> None:
    free = modules_of_verbs() - stood_on()
    assert len(free) > 10
    assert {f"test_{verb}.py" for verb in free - {SPOKEN}} <= {
        path.name for path in (ROOT / "tests/language/verbs").iterdir()
    }


@pytest.mark.slow
def test_without_a_verb_its_tests_alone_fail(tmp_path: Path) -> None:
    verb = random.Random(SEED).choice(sorted(modules_of_verbs() - stood_on() - {SPOKEN}))
    assert without(verb, tmp_path) == {f"tests/language/verbs/test_{verb}.py"}


@pytest.mark.long
def test_without_any_verb_its_tests_alone_fail(tmp_path: Path) -> None:
    free = modules_of_verbs() - stood_on() - {SPOKEN}
    found = {verb: without(verb, tmp_path / verb) for verb in sorted(free)}
    assert found == {verb: {f"tests/language/verbs/test_{verb}.py"} for verb in free}


def test_the_example_of_a_first_change_is_the_one_that_is_walked_through() -> None:
    assert f"```python\n{throwaway_column.COLUMNS['topics'].column}```" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
