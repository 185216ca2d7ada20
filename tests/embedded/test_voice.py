"""Tests of ``kac triage --watch``: a receiver is notified when a cause appears and disappears, and Prometheus fires an
alert.
"""

import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from console.cli.triage import ENDED, REFUSED
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.secret import Secret
from tests.support import worlds
from tests.support.children import Child
from tests.support.http_server import Asked, keeping
from tests.support.patience import PATIENCE, until

cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 3, 3))
locked = worlds.cluster(ClusterSpec(sasl=SaslSpec(plain={"kac": Secret("right")})))
RULES = worlds.ROOT / "docs" / "prometheus-rules.yml"
PROMTOOL = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
SETTLES = "import console.telling.news as news, datetime; news.HELD = datetime.timedelta(seconds=2);"
"""Code for the tested process: it sets the time for which news are held to two seconds instead of a minute."""


@contextmanager
def watching(cluster: ThreadedCluster, folder: Path, *words: str, prepare: str = "") -> Iterator[None]:
    """Run the command as a process until the end of the block, and end it with SIGTERM. prepare: code that runs
    first.
    """
    code = f"import sys; {prepare} from console.__main__ import main; sys.exit(main())"
    line = [sys.executable, "-c", code, "triage", "-b", cluster.bootstrap, "--watch", *words]
    variables = {"KAC_CONFIG": str(folder / "config.toml"), "XDG_STATE_HOME": str(folder), "PATH": "/usr/bin:/bin"}
    with (folder / "errors").open("w") as errors:
        process = Child(line, env=variables, cwd=worlds.ROOT, stdout=subprocess.DEVNULL, stderr=errors, text=True)
        try:
            yield
        finally:
            process.terminate()
            ended = process.wait(PATIENCE)
    assert ended == ENDED


def bodies(requests: list[Asked]) -> list[dict[str, Any]]:
    """Parse the events in the bodies of requests."""
    return [json.loads(each.body) for each in requests]


def address_in(folder: Path) -> str:
    """Return the address that the process printed into its output in the folder."""
    lines: str = until(lambda: "http://" in (folder / "errors").read_text() and (folder / "errors").read_text())
    return lines.split("http://")[1].split("/")[0]


@pytest.mark.slow
@pytest.mark.takes(15)
def test_a_receiver_that_fails_twice_is_notified_once_each(cluster: ThreadedCluster, tmp_path: Path) -> None:
    def events() -> list[str]:
        return [each["event"] for each in bodies(asked)[2:] if each["id"] == "broker-down:broker:3"]

    with keeping(503, 503, 200) as (url, asked):
        (tmp_path / "config.toml").write_text(f'notify.chat.url = "{url}"')
        (tmp_path / "config.toml").chmod(0o600)
        with watching(cluster, tmp_path, "--notify", "chat", "--listen", "127.0.0.1:0", prepare=SETTLES):
            at = address_in(tmp_path)

            def scraped() -> str:
                with urllib.request.urlopen(f"http://{at}/metrics") as response:
                    return str(response.read().decode())

            until(lambda: "kac_triage_healthy 1" in scraped())
            cluster.run(lambda running: running.broker_killed(3))
            until(lambda: events() == ["came"])
            cluster.run(lambda running: running.broker_up(3))
            until(lambda: events() == ["came", "gone"])
            counts = scraped()
    assert [each["event"] for each in bodies(asked)[:3]] == ["came"] * 3
    assert 'kac_notifications_total{receiver="chat",outcome="failed"} 2' in counts
    assert 'kac_notifications_total{receiver="chat",outcome="dropped"} 0' in counts
    assert {each["context"] for each in bodies(asked)} == {cluster.bootstrap.split(",")[0]}
    errors = (tmp_path / "errors").read_text()
    assert "kac: chat does not take messages: the receiver answers 503; kac tries again" in errors
    assert "kac: chat takes messages again" in errors


@pytest.mark.slow
def test_it_waits_for_a_cluster_that_does_not_answer_yet(cluster: ThreadedCluster, tmp_path: Path) -> None:
    for broker in (1, 2, 3):
        cluster.run(lambda running, broker=broker: running.broker_down(broker))
    with keeping(200) as (url, got):
        (tmp_path / "config.toml").write_text(f'notify.chat.url = "{url}"')
        with watching(cluster, tmp_path, "--notify", "chat", prepare=SETTLES):
            until(lambda: got)
            for broker in (1, 2, 3):
                cluster.run(lambda running, broker=broker: running.broker_up(broker))
            until(lambda: any(each["event"] == "gone" for each in bodies(got)))
    assert [(each["event"], each["id"], each["severity"]) for each in bodies(got) if each["cause"] == "no-answer"] == [
        ("came", "no-answer", "critical"),
        ("gone", "no-answer", "critical"),
    ]


LOGIN = """
"security.protocol" = "SASL_PLAINTEXT"
"sasl.mechanism" = "PLAIN"
"sasl.jaas.config" = 'org.apache.kafka.common.security.plain.PlainLoginModule required username=kac password=%s;'
"""


@pytest.mark.parametrize(
    ("login", "why"),
    [(LOGIN % "wrong", "Invalid username or password"), (LOGIN % "right" + 'cluster_id = "another"', "another")],
    ids=["password", "cluster"],
)
def test_a_watch_that_is_refused_tells_so_and_does_not_start_again(
    locked: ThreadedCluster, tmp_path: Path, login: str, why: str
) -> None:
    with keeping(200) as (url, got):
        (tmp_path / "config.toml").write_text(
            f'notify.chat.url = "{url}"\n[contexts.prod]\n"bootstrap.servers" = "{locked.bootstrap}"\n{login}'
        )
        (tmp_path / "config.toml").chmod(0o600)
        words = ("triage", "--context", "prod", "--watch", "--notify", "chat")
        ran = worlds.process(*words, KAC_CONFIG=str(tmp_path / "config.toml"), XDG_STATE_HOME=str(tmp_path))
    assert ran.code == REFUSED
    (unit,) = (worlds.ROOT / "bundle").glob("*.service")
    (stays,) = (each for each in unit.read_text().splitlines() if each.startswith("RestartPreventExitStatus="))
    assert str(REFUSED) in stays.partition("=")[2].split()
    (told,) = bodies(got)
    assert (told["event"], told["id"], told["context"]) == ("came", "no-answer", "prod")
    assert why in str(told["title"])
    assert why in ran.complaints


def test_what_can_not_be_is_refused_before_a_connection(tmp_path: Path) -> None:
    nowhere = ("-b", "127.0.0.1:1")
    ran = worlds.process("triage", *nowhere, "--notify", "chat", KAC_CONFIG=str(tmp_path / "none.toml"))
    assert (ran.code, ran.complaints) == (
        2,
        "kac: --notify and --listen need --watch, and a cluster instead of a record\n",
    )
    (tmp_path / "config.toml").write_text("")
    ran = worlds.process("triage", *nowhere, "--watch", "--notify", "x", KAC_CONFIG=str(tmp_path / "config.toml"))
    assert ran.code == 2
    assert "there is no receiver 'x': write [notify.x]" in ran.complaints


def test_an_address_in_use_is_said(cluster: ThreadedCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = worlds.process("triage", "-b", cluster.bootstrap, "--watch", "--listen", at)
    assert ran.code == 1
    assert f"kac: --listen {at}: " in ran.complaints
    assert "is another kac there?" in ran.complaints


@PROMTOOL
def test_promtool_accepts_the_alert_rules() -> None:
    checked = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
@pytest.mark.takes(10)
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed")
def test_a_prometheus_scrapes_and_an_alert_fires(cluster: ThreadedCluster, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # The rules of the docs, without the times that alerts wait.
    lines = [each for each in RULES.read_text().splitlines() if not each.strip().startswith("for: ")]
    (tmp_path / "rules.yml").write_text("\n".join(lines))
    (tmp_path / "config.toml").write_text("")
    with watching(cluster, tmp_path, "--listen", "127.0.0.1:0"):
        jobs = [{"job_name": "kac", "static_configs": [{"targets": [address_in(tmp_path)]}]}]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        # JSON is also YAML.
        (tmp_path / "prometheus.yml").write_text(
            json.dumps({"global": every, "rule_files": ["rules.yml"], "scrape_configs": jobs})
        )
        options = (
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        )
        with (tmp_path / "prometheus.log").open("w") as log:
            prometheus = Child(["prometheus", *options], stdout=log, stderr=log, cwd=tmp_path)

        def api(path: str) -> Any:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}") as response:
                    return json.load(response)["data"]
            except OSError:
                return None

        def fires() -> list[dict[str, str]]:
            alerts = (api("alerts") or {"alerts": []})["alerts"]
            return [each["labels"] for each in alerts if each["state"] == "firing"]

        try:
            until(lambda: (api("query?query=kac_triage_healthy") or {"result": []})["result"])
            targets = api("targets")["activeTargets"]
            assert [(each["health"], each["lastError"]) for each in targets] == [("up", "")]
            until(lambda: not fires())
            cluster.run(lambda running: running.broker_killed(3))
            (labels, *_) = until(lambda: [each for each in fires() if each.get("cause") == "broker-down"])
        finally:
            prometheus.terminate()
            prometheus.wait(PATIENCE)
    assert (labels["alertname"], labels["subject"], labels["severity"]) == ("KafkaCause", "broker 3", "critical")
