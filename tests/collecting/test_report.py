"""Tests of ``kac lake report``: the page needs no other file, and all text from a cluster is escaped."""

import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from console.cli import main as cli
from console.collecting.report import changes_figure, rate_figure, text
from console.lake.reader import Change, Gap, Minute
from tests.support import sample_lake
from tests.support.sample_lake import CLUSTER, NOON, OTHER

MINUTE = timedelta(minutes=1)
VOID = {"meta"}


class Page(HTMLParser):
    """Parses an HTML page into its tags, in order, with attributes and text. Raises AssertionError if a tag is closed
    that is not open.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sample_lake.make_lake(str(tmp_path_factory.mktemp("sample") / "lake"), "<b>cluster</b>").where


def test_the_page_stands_alone_and_everything_is_escaped(lake: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert cli.run(["lake", "report", "--lake", lake, "--html", str(file)]) == 0
    html = file.read_text(encoding="utf-8")
    page = Page(html)
    assert not set(page.tags) & {"script", "link", "img", "iframe", "object", "a", "b"}
    assert not {name for name, _ in page.attributes} & {"src", "href", "style", "onclick", "onload"}
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", html)
    words = " ".join(page.words)
    for part in ("<b>cluster</b>", OTHER, "604800000 (7 d)", "alice or bob", "······", "not polled"):
        assert part in words
    assert "evil\\x1b[31m\\u202e[bold]" in words
    assert "min-isr" in words
    assert len(set(re.findall(r"\d{8}T\d{6}Z-[0-9a-f]{6}", words))) == 1  # the id of the run that wrote all tables
    assert "alice / checkout: producer_byte_rate" in words
    assert page.tags.count("svg") >= 3


def test_the_hours_that_are_asked_for(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    since, until = (f"{NOON - ago * MINUTE:%Y-%m-%dT%H:%MZ}" for ago in (50, 20))
    argv = ["lake", "report", "--lake", lake, "--since", since, "--until", until, "--html", "-"]
    assert cli.run([*argv, "--cluster", "<b>cluster</b>"]) == 0
    words = " ".join(Page(capsys.readouterr().out).words)
    assert "old-orders" in words
    assert "cleanup.policy" not in words.partition("differs")[0]
    assert "It was polled all the time" in words
    assert OTHER not in words.partition("differs")[0]


def test_what_is_not_understood(lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["lake", "report", "--lake", lake]) == 2
    assert "--html FILE" in capsys.readouterr().err
    assert cli.run(["lake", "report", "--lake", lake, "--html", str(tmp_path / "no" / "file")]) == 1
    assert "can't write" in capsys.readouterr().err
    assert cli.run(["lake", "report", "--lake", lake, "--cluster", "nobody", "--html", "-"]) == 2
    assert "has no cluster 'nobody'" in capsys.readouterr().err


def test_a_figure_counts_every_change_once() -> None:
    changes = [Change(*row) for row in sample_lake.history(CLUSTER, NOON) if row[0] == CLUSTER]
    figure = changes_figure(changes, (), NOON - 300 * MINUTE, NOON)
    counts = [int(found) for found in re.findall(r"<rect class=\"bar\"[^>]*><title>(\d+)</title>", figure)]
    assert sum(counts) == len([change for change in changes if not change.is_gap])


def test_a_rate_stands_below_its_limit_where_it_is_lower() -> None:
    minutes = [Minute(NOON + n * MINUTE, 1, 100.0, 1, 50.0, 50.0 if n < 5 else 150.0, 7 * (n >= 5)) for n in range(10)]
    figure = rate_figure("x", "producer_byte_rate", minutes, (Gap(NOON, NOON + MINUTE),), NOON, NOON + 10 * MINUTE)
    (rate,) = re.findall(r'class="rate b0" points="([^"]*)"', figure)
    (limit,) = re.findall(r'class="limit" points="([^"]*)"', figure)
    heights, limits = ([float(point.split(",")[1]) for point in line.split()] for line in (rate, limit))
    # Greater values are further up: their coordinates are smaller.
    assert [height > line for height, line in zip(heights, limits, strict=True)] == [n < 5 for n in range(10)]
    assert figure.count('class="throttled"') == 5
    assert figure.count('class="gap"') == 1
    torn = [
        minute for minute in minutes if minute.minute not in (NOON + 4 * MINUTE, NOON + 5 * MINUTE, NOON + 6 * MINUTE)
    ]
    assert rate_figure("x", "producer_byte_rate", torn, (), NOON, NOON + 10 * MINUTE).count('class="rate b0"') == 2


def test_text_is_harmless() -> None:
    assert text("<script>\x1b'\"&") == "&lt;script&gt;\\x1b&#x27;&quot;&amp;"
