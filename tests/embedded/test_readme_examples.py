"""The examples of README, of docs/examples.md and of the first ten minutes, run as they stand on the cluster that the
demo opens on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec, clusters_of
from tests.support import worlds

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = (
    "demo",
    "shell",
    "cluster",
    "lake",
    "drift",
    "usage",
    "completion",
    "kac",
    "events",
    "-b",
    "--context",
    "--command-config",
)
"""What stays open, or has tests of its own on what it needs."""


PAGES = ("README.md", "docs/examples.md", "docs/start.md")


def examples(page: str) -> list[str]:
    """The commands of a page's block, each once; what a line chains with a semicolon is several."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (block,) = (each for each in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "kac doctor" in each)
    found: list[str] = []
    # What comes after it is of the lake that `kac lake demo` makes: tests/collecting has that.
    for line in block.partition("kac lake demo")[0].splitlines():
        quoted = False
        for place, char in enumerate(line):
            quoted ^= char == "'"
            if char == "#" and not quoted:
                line = line[:place]
                break
        found += [each.strip() for each in re.split(r";(?=(?:[^']*'[^']*')*[^']*$)", line) if each.strip()]
    return [
        each
        for each in found
        if each.split()[1] not in ELSEWHERE and "--watch" not in each and not each.startswith("source")
    ]


demo = worlds.cluster(clusters_of("incident", ClusterSpec())["incident"], scope="module")


@pytest.mark.parametrize("line", dict.fromkeys(line for page in PAGES for line in examples(page)))
def test_an_example_of_readme_runs_on_readmes_demo(
    line: str,
    demo: ThreadedCluster,
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = own_home / ".config" / "kac" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[contexts.prod]\n"bootstrap.servers" = "{demo.bootstrap}"\n')
    (tmp_path / "client.properties").write_text("client.id=kac\n")
    command, _, target = line.partition(">")
    words = [demo.bootstrap if word in ("…", "localhost:19092") else word for word in shlex.split(command)[1:]]
    words = ["1s" if word in ("2h", "20s", "5s") and word != words[0] else word for word in words]
    words = [str(tmp_path / word) if word in ("FILE", "client.properties") else word for word in words]
    monkeypatch.chdir(tmp_path)
    if not {"-b", "-c"} & set(words):
        monkeypatch.setenv("KAC_BOOTSTRAP", demo.bootstrap)
    code = cli.run(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    # 4 and 5: triage names what is wrong, which a bad day has; moves that have to wait. 3: what is staged and not sent,
    # unless another example has applied the same before.
    fine = {"triage": (4, 5), "moves": (0, 4), "doctor": (0, 1)}.get(
        words[0], (0, 3) if words[-1].endswith("; plan") else (0,)
    )
    assert code in fine, out[-2000:] + err[-2000:]
    assert not target or out
