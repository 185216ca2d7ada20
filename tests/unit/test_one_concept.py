"""Tests that a new concept needs few lines (a type of entity one record, a verb one module, a column or a cause one
entry), and that few files contain the name of an existing one.
"""

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import grimp
import pytest

from benchmarks import house
from console.model.codes import ResourceType
from console.model.entity_types import BY_NUMBER, ENTITY_TYPES, FileForm, Lister, unknown
from tests.support import new_concepts
from tests.support.new_concepts import ADDED, ROOT, WALKS, Step
from tests.support.patience import PATIENCE

MOST_MODULES = 8
"""Maximum number of modules that may name one type of resource: the table, its constant, and the texts that only this
type has.
"""


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests with a copied tree first on the module path; other modules come from this checkout.
    Return the ended process.
    """
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, str]]:
    """Return name of a step -> exit code and output of kac in a tree to which a new concept of each sort was added;
    runs of blanks are single blanks.
    """
    ran = run(new_concepts.copy_with_all(tmp_path_factory.mktemp("tree")), new_concepts.__name__)
    assert ran.returncode == 0, ran.stderr
    return {step: (code, " ".join(text.split())) for step, (code, text) in json.loads(ran.stdout).items()}


@pytest.mark.parametrize(
    ("sort", "step"),
    [pytest.param(sort, step, id=f"{sort}: {step.name}") for sort, (_, steps) in WALKS.items() for step in steps],
)
def test_what_is_new_is_known_everywhere(said: Mapping[str, tuple[int, str]], sort: str, step: Step) -> None:
    code, text = said[f"{sort}: {step.name}"]
    assert (code, [each for each in step.words if each.strip() not in text]) == (step.code, []), text


def test_a_new_verb_that_takes_away_is_proposed_for_one_slip_alone(said: Mapping[str, tuple[int, str]]) -> None:
    assert "did you mean 'touch'?" not in said["verb: not proposed"][1]


@pytest.mark.parametrize(("sort", "most"), house.MOST_TOUCHED.items())
def test_what_is_new_touches_few_files(sort: str, most: int) -> None:
    assert 0 < len(new_concepts.files(sort)) <= most


def test_the_example_of_a_first_change_is_the_one_that_is_walked_through() -> None:
    (column,) = ADDED["column"]
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"```python\n{column['lines']}```" in page
    assert f"`{column['file']}`, before `{column['before'].strip().rstrip(',')}`" in page


def test_a_type_is_named_in_few_modules_and_a_newer_one_keeps_its_number() -> None:
    # ListClientMetricsResources is the name of an API.
    named = re.compile("client.?metrics(?!.?resources)", re.IGNORECASE)
    found = [str(path.relative_to(ROOT)) for path in (ROOT / "console").rglob("*.py") if named.search(path.read_text())]
    assert ADDED["type of resource"][0]["file"] in found
    assert len(found) <= MOST_MODULES, found
    newer = ResourceType(65)
    assert newer.entity == unknown(65)
    assert (newer.entity.word, newer.entity.kafka_word, newer.entity.own_source) == ("UNKNOWN(65)", "UNKNOWN(65)", 0)


MOST_FILES = 14
"""Maximum number of files that may name delegation tokens, a concept that has a noun, a part of the snapshot, edits,
a verb, a pane, a cause and a lint rule. They are its own files, those with its rows in tables, and those with
texts that name its commands. Files of the embedded cluster do not count.
"""
OTHER_SENSES = {
    "console/contexts/java_client.py": "a login with a token",
    "console/language/lexer.py": "the tokens of Pygments",
    "console/model/feature_levels.py": "what Kafka's releases brought",
}
IN_TEXT = r"""delegation tokens|\b(?:list|kac) tokens\b|\btoken (?:create|renew|expire)\b|['"]tokens['"]"""
IN_CODE = r"\bTOKENS\b|\.(?:TOKEN|tokens)\b|\btokens=|\bimport [\w, ]*\btokens?\b"


def without_docstrings(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = [each for each in node.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
            node.body = [each for each in node.body if each not in texts] or [ast.Pass()]
    return tree


def test_a_noun_is_named_in_few_files() -> None:
    paths = {str(each.relative_to(ROOT)): each for each in (ROOT / "console").rglob("*.py")}
    own = {name for name in paths if Path(name).stem in ("token", "tokens") and "embedded" not in name}
    classes = [each for name in own for each in re.findall(r"(?m)^class ([A-Z]\w+)", paths[name].read_text())]
    assert {"DelegationToken", "CreateToken", "TokenTarget", "TokensView"} <= set(classes)
    named = re.compile("|".join((IN_TEXT, IN_CODE, rf"\b(?:{'|'.join(classes)})\b")))
    likely = (name for name, path in paths.items() if "embedded" not in name and "token" in path.read_text().lower())
    found = {name for name in likely if named.search(ast.unparse(without_docstrings(paths[name])))}
    assert {"console/model/parts.py", "console/tui/keymap.py", *own, *OTHER_SENSES} <= found
    assert len(found - OTHER_SENSES.keys()) <= MOST_FILES, sorted(found)


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
    # Version 0 of the list of resources has no types.
    assert sum(each.listed is not None and each.listed.version == 0 for each in resources) == 1
    assert all(each.listed is not None for each in resources if each.lister is Lister.RESOURCES)


# The tests of a verb stand in `tests/language/verbs/test_<its module>.py`; the other tests of the language use `set`.

REGISTRY = "console.language.verbs"
SPOKEN = "alter"
SEED = 4
OPTIONS = "-q -p no:cacheprovider -p no:xdist --tb=no -rfE --continue-on-collection-errors --hypothesis-profile few"


def free_verbs() -> list[str]:
    """Return the modules of verbs that no module of the product except the registry imports, and that import no other
    verb's module.
    """
    imports = grimp.build_graph("console", cache_dir=None)
    verbs = {path.stem for path in (ROOT / "console/language/verbs").glob("*.py")} - {"__init__", SPOKEN}
    modules = {f"{REGISTRY}.{verb}" for verb in verbs}
    return sorted(
        verb
        for verb in verbs
        if imports.find_modules_that_directly_import(f"{REGISTRY}.{verb}") <= {REGISTRY}
        and imports.find_modules_directly_imported_by(f"{REGISTRY}.{verb}").isdisjoint(modules)
    )


def test_a_verb_that_nothing_stands_on_has_its_own_tests() -> None:
    free = free_verbs()
    assert len(free) > 10
    assert {f"test_{verb}.py" for verb in free} <= {path.name for path in (ROOT / "tests/language/verbs").iterdir()}


@pytest.mark.parametrize(
    "most",
    [pytest.param(1, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.long)],
    ids=["of one", "of each"],
)
def test_without_a_verb_its_tests_alone_fail(tmp_path: Path, most: int) -> None:
    free = free_verbs()
    for verb in random.Random(SEED).sample(free, min(most, len(free))):
        tree = tmp_path / verb
        for folder in ("console", "widgets", "themes", "tests"):
            shutil.copytree(ROOT / folder, tree / folder)
        shutil.copy(ROOT / "pyproject.toml", tree)
        (tree / f"console/language/verbs/{verb}.py").unlink()
        ran = run(tree, "pytest", *OPTIONS.split(), "tests/language")
        assert re.search(r"^\d+ passed, |, \d+ passed", ran.stdout, re.MULTILINE), ran.stdout[-2_000:] + ran.stderr
        failed = set(re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)", ran.stdout, re.MULTILINE))
        assert failed == {f"tests/language/verbs/test_{verb}.py"}
