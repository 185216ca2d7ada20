"""Tests of the documentation: generated pages are up to date, links and paths exist, and kac accepts each command line
that pages show.
"""

import argparse
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from benchmarks.faults import table as faults
from benchmarks.nights import catalogue, kept
from benchmarks.nights import table as nights
from console.admin.connections import sasl_login
from console.cli.main import BY_NAME, command_parser
from console.cli.manual import lake_tables, lint_rules, triage_causes
from console.cli.manual.pages import page as man_page
from console.cli.manual.pages import reference
from console.cli.moves import misused
from console.cli.noun import Asked, Found
from console.contexts import load, resolve
from console.lake.schema import PARTS, TABLES
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import EditStatement, Statement, Where
from console.language.unparse import unparse
from console.language.verbs import VERBS
from console.language.verbs.apply import Apply
from console.language.verbs.plan import ShowPlan
from console.operations.goals import goal_of
from console.plan.risk_rules import NAMES as RISKS
from console.tui.key_help import keys_page
from release.__main__ import GENERATED
from release.site import FROM_ROOT, OTHERS, with_places
from tests.support import versions

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/README.md", *ROOT.glob(".github/**/*.md")]
)


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


MADE: dict[str, tuple[Callable[[str], str], str]] = {
    "docs/commands.md": (lambda _: reference(), "make docs"),
    "docs/kac.1": (lambda _: man_page(), "make docs"),
    "docs/keys.md": (lambda _: keys_page(), "make docs"),
    "docs/lake-tables.md": (lambda _: lake_tables.page(), "make docs"),
    "docs/lint.md": (lambda _: lint_rules.page(), "make docs"),
    "docs/causes.md": (lambda _: triage_causes.page(), "make docs"),
    "docs/versions.md": (
        lambda text: text.replace(versions.in_page(text), versions.table(versions.kept())),
        "python -m tests.support.versions (or with the releases that changed)",
    ),
    f"docs/{faults.PAGE.name}": (
        lambda text: nights.written(
            faults.written(text, faults.kept()),
            catalogue.nights(),
            kept.scores(),
            kept.judged(catalogue.nights(), kept.halves()),
        ),
        "python -m benchmarks.faults.table; python -m benchmarks.nights --table",
    ),
}
"""Page -> a function that returns the up-to-date text for its present text, and the command that writes it."""


@pytest.mark.parametrize("page", MADE)
def test_a_page_that_is_made_is_the_latest(page: str) -> None:
    made, command = MADE[page]
    assert made(text_of(page)) == text_of(page), f"run: {command}"


def test_the_pages_have_every_verb_and_every_column() -> None:
    assert all(f"### {verb.name}\n" in reference() for verb in VERBS.values())
    assert all(usage in reference() for verb in VERBS.values() for usage in verb.usage)
    parts = dict(part.split("`\n", 1) for part in lake_tables.page().split("### `")[1:])
    described = {table.name: table for table in (*TABLES.values(), *PARTS.values())}
    assert set(parts) == set(described)
    for name, text in parts.items():
        rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("| `")]
        assert [row.split("`")[1] for row in rows] == list(described[name].names)
        assert all(len(row.replace("\\|", "").split("|")) == 5 for row in rows)
        assert all(f"`{part}` ({of})" in text for part, of in described[name].partitions.items())
        assert ("made = max(made)" in text) == bool(described[name].newest)


_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as links use them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def broken(page: Path, text: str) -> Iterator[str]:
    """Yield the links in a page's text whose target does not exist; links within code are left out."""
    for found in _LINK.finditer(_CODE.sub("", text)):
        link = found[1] or found[2]
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not re.match(r"[a-z]+:", link) and (not target.exists() or (anchor and anchor not in anchors(target))):
            yield f"{page.relative_to(ROOT)}: {link}"


def test_every_link_leads_somewhere_and_none_to_an_index_of_packages() -> None:
    assert [each for page in PAGES for each in broken(page, page.read_text("utf-8"))] == []
    text = "[a](docs/nothing.md) [b](CHANGELOG.md#nothing) [c](CHANGELOG.md#added) `[d](x.md)` [e](https://kafka.apache.org)"
    assert list(broken(ROOT / "README.md", text)) == ["README.md: docs/nothing.md", "README.md: CHANGELOG.md#nothing"]
    hosts = [f"{name}.org" for name in ("pypi", "pythonhosted", "npmjs")]
    assert [page.name for page in PAGES for host in hosts if host in page.read_text("utf-8")] == []


def test_the_map_and_what_goes_on_from_it_name_what_is_there() -> None:
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "ARCHITECTURE.md", *(ROOT / "docs/dev").glob("*.md")))
    places = [
        ROOT / place
        for place in (".", "tests", *(f"console/{room}" for room in (".", "language", "tui", "files", "plan")))
    ]
    paths = set(re.findall(r"`([\w./]+(?:\.py|/))`", pages))
    assert len(paths) > 80
    assert {path for path in paths if not any((place / path).exists() for place in places)} == set()
    rooms = {path.name for path in (ROOT / "console").iterdir() if (path / "__init__.py").exists()}
    names = {name for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", pages) if name.split(".")[0] in rooms}
    modules = {name: (ROOT / "console").joinpath(*name.split(".")) for name in names}
    assert len(names) > 20
    assert {name for name, at in modules.items() if not (at.is_dir() or at.with_suffix(".py").exists())} == set()


def test_the_map_names_every_room_and_fits_on_a_page() -> None:
    rooms = {path.name for path in (ROOT / "console").iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"\n{room}/ " not in text_of("ARCHITECTURE.md")} == set()
    lines = text_of("ARCHITECTURE.md").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 100] == []


def navigated(nav: Any) -> Iterator[str]:
    for each in nav:
        (under,) = each.values()
        yield from [under] if isinstance(under, str) else navigated(under)


def test_the_site_has_every_page_once_and_a_release_makes_those_of_code_again() -> None:
    site = yaml.safe_load(text_of("mkdocs.yml"))
    docs = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(navigated(site["nav"])) == sorted([*FROM_ROOT.values(), *docs])
    assert set(site["extra_css"]) <= set(OTHERS)
    assert all((ROOT / path).is_file() for path in OTHERS.values())
    assert GENERATED.keys() == {page for page, (_, command) in MADE.items() if command == "make docs"}


@pytest.mark.parametrize(
    ("page", "text", "wanted"),
    [
        ("README.md", "[a](docs/trust.md#warnings)", "[a](trust.md#warnings)"),
        ("README.md", "![b](screenshots/tour.svg)", "![b](screenshots/tour.svg)"),
        ("docs/connect.md", "[a](../README.md#status) [b](trust.md)", "[a](index.md#status) [b](trust.md)"),
        ("docs/walk.md", "![a](../screenshots/now.svg)", "![a](screenshots/now.svg)"),
        ("benchmarks/README.md", "[a](../ARCHITECTURE.md)", "[a](ARCHITECTURE.md)"),
        ("docs/dev/README.md", "[a](edits.md) [b](../../README.md)", "[a](edits.md) [b](../index.md)"),
        ("CHANGELOG.md", "[0.1.0]: docs/install.md", "[0.1.0]: install.md"),
        ("README.md", "[a](https://kafka.apache.org/) [b](#status)", "[a](https://kafka.apache.org/) [b](#status)"),
    ],
)  # fmt: skip
def test_links_follow_the_pages_into_the_site(page: str, text: str, wanted: str) -> None:
    assert with_places(page, text) == wanted


PROPERTIES = re.findall(r"```properties\n(.*?)```", text_of("docs/connect.md"), re.DOTALL)


def test_each_way_to_connect_has_an_example() -> None:
    found = {line.partition("=")[2] for line in "".join(PROPERTIES).splitlines() if line.startswith("sasl.mechanism=")}
    assert found == {"SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"}  # GSSAPI is the default
    assert "Krb5LoginModule" in "".join(PROPERTIES)


@pytest.mark.parametrize("text", PROPERTIES)
def test_an_example_of_properties_is_taken_as_it_is(text: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(text)
    environ = dict.fromkeys(("PASSWORD", "HMAC", "CLIENT_SECRET", "PASSPHRASE", "KEY_PASSWORD"), "open sesame")
    context = resolve(load(environ, tmp_path, cwd=tmp_path), command_config=file)
    assert context.warnings == ()
    assert (sasl_login(context.settings) is None) == (context.settings.security_protocol == "SSL")


OPERATIONS = text_of("docs/operations.md")
BLOCKS = [line for block in re.findall(r"```\n(.*?)```", OPERATIONS, re.DOTALL) for line in block.splitlines()]
TYPED = [line for line in BLOCKS if line.startswith(":")]
IN_OPERATIONS = [line for line in BLOCKS if not line.startswith(":")]
INLINE = [" ".join(text.split()) for text in re.findall(r"(?<!`)`([^`]+)`(?!`)", OPERATIONS)]
ROWS = [line.split(" | ") for line in text_of("docs/kafka-tools.md").splitlines() if line.startswith("| `kafka-")]
FOR_TOOLS = [text for row in ROWS for text in re.findall(r"`(kac [^`]+)`", row[1])]


def statements(line: str, *, idle: bool = True) -> tuple[Statement, ...]:
    """Return the statements of a command line of kac; empty if they depend on data that kac would read. Raises
    OptionsError, ParseError or SystemExit if the line is invalid.

    idle: whether options without effect on the statements are allowed.
    """
    _, name, *words = shlex.split(line)
    given = command_parser(BY_NAME[name]).parse_args(words)
    if name == "run":
        return tuple(parse("\n".join(given.execute), Where.RUN))
    if name == "moves":
        assert misused(given) == ""
        assert not given.goal or goal_of(given.goal)
    elif BY_NAME[name].is_noun:
        assert set(re.findall(r"[a-z-]+", given.accept)[:1]) <= set(RISKS)
        asked = Asked(given)
        meant = BY_NAME[name].noun().meaning(cast(argparse.Namespace, asked), BY_NAME[name].noun().action_of(given))
        asked.asked |= {"if_exists", "if_not_exists"}
        assert idle or asked.idle() == []
        if isinstance(meant, tuple) and not isinstance(meant, Found):
            return tuple(parse("\n".join(meant)))
    return ()


@pytest.mark.parametrize("line", dict.fromkeys([*IN_OPERATIONS, *FOR_TOOLS]))
def test_each_command_is_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "FILE").write_text('{"partitions": [{"topic": "T", "partition": 0, "offset": 9}]}')
    monkeypatch.chdir(tmp_path)
    found = statements(line, idle=line not in FOR_TOOLS)
    assert found or " run " not in line
    # A line that stages edits also shows or sends them.
    if line in IN_OPERATIONS and " run " in line and any(isinstance(each, EditStatement) for each in found):
        assert isinstance(found[-1], Apply | ShowPlan)


@pytest.mark.parametrize("line", TYPED)
def test_what_is_typed_into_the_command_bar_is_understood(line: str) -> None:
    """The command bar accepts each of these lines, and scripts refuse them."""
    assert parse(line, Where.BAR)
    with pytest.raises(ParseError, match=r"operation|partition"):
        parse(line.removeprefix(":"))


@pytest.mark.parametrize("text", [text for text in INLINE if text.partition(" ")[0] in VERBS and len(text.split()) > 3])
def test_each_statement_in_a_sentence_is_understood(text: str) -> None:
    assert parse(text, Where.BAR)


def test_warnings_have_the_names_and_subjects_that_are_asked_for() -> None:
    assert set(re.findall(r"--accept ([\w-]+)", OPERATIONS)) <= set(RISKS)
    for line in IN_OPERATIONS:
        if re.search(r"--accept [\w-]+=", line):
            last = statements(line)[-1]
            assert isinstance(last, Apply)
            (accepted,) = last.accept
            assert accepted.partition("=")[2].split("/")[0] in line.partition(";")[0]


def test_no_verb_of_an_incident_and_no_tool_of_kafkas_about_a_cluster_is_left_out() -> None:
    verbs = {unparse(each).split()[0] for line in IN_OPERATIONS for each in statements(line)}
    named = "elect cancel move reset skip clone delete abort unregister feature explain allow revoke"
    assert {*named.split()} <= verbs
    assert "kac records " in OPERATIONS
    tools = (
        "acls broker-api-versions client-metrics cluster configs console-consumer console-producer consumer-groups"
        " delegation-tokens delete-records features get-offsets groups leader-election log-dirs metadata-quorum"
        " reassign-partitions replica-verification share-groups streams-application-reset streams-groups topics"
        " transactions"
    )
    assert {text.split()[0] for row in ROWS for text in re.findall(r"`kafka-([^`]+)`", row[0])} == {*tools.split()}
