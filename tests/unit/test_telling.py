"""Tests of sending events to receivers (HTTP requests, programs, apprise), also to receivers that fail, hang or answer
too much.
"""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console.cli.manual.completion import candidates, names
from console.contexts import ContextError, load
from console.contexts.receivers import FIELDS
from console.model.severity import Certainty, Severity
from console.present.triage import CauseRow
from console.session.muted_causes import MutedCauses
from console.telling import outbox as outboxes
from console.telling.message import event
from console.telling.news import News, What
from console.telling.outbox import Outbox
from console.telling.receivers import NotDelivered, deliveries
from console.telling.voice import Voice
from console.triage.cause import Claim, Evidence, Next
from console.triage.diagnosis import Named, Verdict
from console.triage.settling import HELD
from console.triage.symptoms import Subject
from tests.support.children import Child
from tests.support.http_server import Answer, Asked, answering, keeping
from tests.support.patience import PATIENCE, until

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
SECRET = "hook-key-4711"


def claim(title: str = "broker 2 is down", severity: Severity = Severity.HIGH, group: str = "billing") -> Claim:
    return Claim(
        cause="broker-down",
        subject=Subject(group=group),
        severity=severity,
        certainty=Certainty.CERTAIN,
        evidence=(Evidence("refuses connections, password=hunter2", "Metadata"),),
        title=title,
        since=AT,
        next=(Next("look at it", "brokers"),),
    )


def told(what: What = What.CAME, **about: Any) -> News:
    return News(what, "broker-down:2", CauseRow(Named(claim(**about), {})), AT)


EVENT = event(told(), "prod", "id-1")


def receiver(tmp_path: Path, text: str, **environ: str) -> Callable[[Any], None]:
    file = tmp_path / "config.toml"
    file.write_text(text)
    file.chmod(0o600)
    contexts = load({"KAC_CONFIG": str(file), "PATH": os.environ["PATH"], **environ}, tmp_path)
    (only,) = deliveries(contexts.receiver("chat"))
    return only


@contextmanager
def outbox(deliver: Callable[[Any], None], **how: Any) -> Iterator[tuple[Outbox, list[str]]]:
    lines: list[str] = []
    made = Outbox("chat", deliver, lines.append, **{"rests": (0.01,), **how})
    try:
        yield made, lines
    finally:
        made.close(0)


# -- messages ----------------------------------------------------------------------------------------------------------


def test_an_event_has_no_secret_and_no_control_characters_and_is_small() -> None:
    hostile = event(told(title="group \x1b[2J\n‮evil is down", group="a\x00b"), "prod", "id-1")
    whole = json.dumps(hostile.data, ensure_ascii=False) + "".join(hostile.fields.values())
    assert "hunter2" not in whole
    assert not set(whole) & set("\x1b‮\x00")
    assert hostile.data["evidence"] == [
        {"fact": "refuses connections, password=······", "source": "Metadata", "at": "2026-03-01T03:00:00.000Z"}
    ]
    vast = event(told(title="x" * 10**6, group="g" * 10**6), "prod", "id-1")
    assert len(json.dumps(vast.data)) < 20_000


def test_the_fields_of_a_template_are_those_of_events() -> None:
    assert tuple(EVENT.fields) == FIELDS
    worse = event(told(What.WORSE)._replace(was=Severity.WARNING), "prod", "id-1")
    gone = event(told(What.GONE)._replace(was=Severity.HIGH), "prod", "id-1")
    assert [each.text for each in (EVENT, worse, gone)] == [
        "HIGH broker 2 is down (prod)",
        "HIGH, was WARNING: broker 2 is down (prod)",
        "GONE broker 2 is down (prod)",
    ]


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_request_has_the_template_filled_as_json_and_the_headers(tmp_path: Path) -> None:
    with keeping(204) as (url, asked):
        (tmp_path / "token").write_text("t0ken\n")
        (tmp_path / "token").chmod(0o600)
        deliver = receiver(
            tmp_path,
            f"""
            [notify.chat]
            url = "{url}/hook/a?key=${{env:KEY}}"
            headers = {{ Authorization = "Bearer ${{file:token}}" }}
            [notify.chat.json]
            text = "{{text}}: {{title}} {{no field}} {{"
            deep = [{{ n = 1, on = true, to = "{{evidence}}" }}]
            """,
            KEY=SECRET,
        )
        deliver(event(told(title='a "quoted" {severity} \\ title'), "prod", "id-1"))
    (request,) = asked
    assert (request.method, request.path) == ("POST", f"/hook/a?key={SECRET}")
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.headers["content-type"] == "application/json"
    title = 'a "quoted" {severity} \\ title'
    assert json.loads(request.body) == {
        "text": f"HIGH {title} (prod): {title} {{no field}} {{",
        "deep": [{"n": 1, "on": True, "to": "refuses connections, password=······"}],
    }


def test_without_a_template_it_is_the_event(tmp_path: Path) -> None:
    with keeping(200) as (url, asked):
        receiver(tmp_path, f'notify.chat.url = "{url}"')(EVENT)
    assert json.loads(asked[0].body) == EVENT.data
    assert (EVENT.data["v"], EVENT.data["event"], EVENT.data["severity"]) == (1, "came", "high")


def test_a_receiver_that_answers_too_much_was_told_and_one_that_never_answers_fails_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(lambda _: Answer(200, b"x" * (10 << 20))) as url:
        receiver(tmp_path, f'notify.chat.url = "{url}"')(EVENT)
    monkeypatch.setattr("console.telling.receivers.SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        deliver = receiver(tmp_path, f'notify.chat.url = "http://127.0.0.1:{server.getsockname()[1]}"')
        with pytest.raises(NotDelivered, match=r"the receiver does not answer within 0\.2 s"):
            deliver(EVENT)


@pytest.mark.parametrize(("status", "final"), [(500, False), (503, False), (429, False), (404, True), (302, False)])
def test_a_refusal_says_its_status_and_no_secret(tmp_path: Path, status: int, final: bool) -> None:
    def answer(request: Asked) -> Answer:
        return Answer(status, request.path, {"Location": f"http://elsewhere{request.path}"})

    with answering(answer) as url:
        deliver = receiver(tmp_path, f'notify.chat.url = "{url}/{SECRET}"')
        with pytest.raises(NotDelivered) as failed:
            deliver(EVENT)
    assert str(status) in str(failed.value)
    assert SECRET not in str(failed.value)
    assert failed.value.is_final == final


@pytest.mark.parametrize("status", [204, 503])
@pytest.mark.parametrize("between", [b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"])
def test_a_response_before_the_response_is_none(tmp_path: Path, status: int, between: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            taken, _ = server.accept()
            with taken:
                taken.recv(1 << 16)
                taken.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + between[:20])
                taken.sendall(between[20:] + f"HTTP/1.1 {status} Told\r\nContent-Length: 0\r\n\r\n".encode())

        answers = threading.Thread(target=answer, daemon=True)
        answers.start()
        deliver = receiver(tmp_path, f'notify.chat.url = "http://127.0.0.1:{server.getsockname()[1]}"')
        if status == 204:
            deliver(EVENT)
        else:
            with pytest.raises(NotDelivered, match="the receiver answers 503"):
                deliver(EVENT)
        answers.join()


def test_a_name_that_is_looked_up_for_long_fails_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    real = socket.getaddrinfo

    def slow(*words: Any, **how: Any) -> Any:
        go.wait(PATIENCE)
        return real(*words, **how)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setattr("console.telling.receivers.SECONDS", 0.2)
    deliver = receiver(tmp_path, 'notify.chat.url = "http://receiver.invalid"')
    began = time.monotonic()
    with pytest.raises(NotDelivered, match=r"the receiver does not answer within 0\.2 s"):
        deliver(EVENT)
    assert time.monotonic() - began < PATIENCE / 2
    go.set()


# -- programs ----------------------------------------------------------------------------------------------------------


def program(tmp_path: Path, text: str) -> Callable[[Any], None]:
    script = tmp_path / "page"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return receiver(tmp_path, 'notify.chat.command = ["./page", "-q"]')


def test_a_program_gets_the_event_on_standard_input_and_says_why_it_fails(tmp_path: Path) -> None:
    program(tmp_path, f"cat > {tmp_path}/got; echo $1 >> {tmp_path}/got")(EVENT)
    text, argument = (tmp_path / "got").read_text().splitlines()
    assert json.loads(text) == EVENT.data
    assert argument == "-q"
    with pytest.raises(NotDelivered, match="page ended with 3: no route to the pager"):
        program(tmp_path, "yes x | head -c 3000000 >&2; echo; echo no route to the pager >&2; exit 3")(EVENT)
    program(tmp_path, "exec <&-; yes | head -c 3000000; (sleep 600 &) ; exit 0")(EVENT)


def test_a_program_that_leaves_one_behind_leaves_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    def held() -> tuple[int, int]:
        return threading.active_count(), sum(1 for _ in Path("/proc/self/fd").iterdir())

    deliver = program(tmp_path, f"cat > /dev/null; sleep 600 & echo $! >> {tmp_path}/left")
    before = held()
    try:
        for _ in range(5):
            deliver(EVENT)
        until(lambda: held() <= before)
        noisy = program(tmp_path, f"yes >&2 & echo $! >> {tmp_path}/left; exit 3")
        with pytest.raises(NotDelivered, match="page ended with 3"):
            noisy(EVENT)
        until(lambda: held() <= before)
    finally:
        for line in (tmp_path / "left").read_text().split():
            with suppress(ProcessLookupError):  # a process whose pipe was closed has ended
                os.kill(int(line), signal.SIGKILL)


def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.telling.receivers.SECONDS", 0.5)
    deliver = program(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(NotDelivered, match=r"page does not end: killed after 0\.5 s"):
        deliver(EVENT)
    child = int((tmp_path / "child").read_text())
    until(lambda: not Path(f"/proc/{child}").exists() or " Z " in Path(f"/proc/{child}/stat").read_text())


def test_a_program_in_a_file_that_others_write_is_not_run(tmp_path: Path) -> None:
    program(tmp_path, "exit 0")
    (tmp_path / "page").chmod(0o777)
    with pytest.raises(NotDelivered, match="page is not run: "):
        receiver(tmp_path, 'notify.chat.command = ["./page"]')(EVENT)


# -- apprise -----------------------------------------------------------------------------------------------------------


def test_apprise_delivers_by_its_urls_and_its_failure_has_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("apprise")
    with keeping(200, 500) as (url, asked):
        where = url.replace("http", "json")
        deliver = receiver(tmp_path, 'notify.chat.apprise = "${env:URL}"', URL=f"{where}/{SECRET}")
        deliver(EVENT)
        with pytest.raises(NotDelivered) as failed:
            deliver(EVENT)
    got = json.loads(asked[0].body)
    assert (got["title"], got["type"]) == (EVENT.text, "failure")
    assert SECRET not in str(failed.value) + caplog.text
    with pytest.raises(NotDelivered, match="apprise knows no service with such a URL"):
        receiver(tmp_path, 'notify.chat.apprise = "no-such://x"')


def test_each_url_of_apprise_is_a_way_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("apprise")
    asked: list[str] = []

    def answer(request: Asked) -> Answer:
        asked.append(request.path)
        return Answer(200 if request.path.startswith("/good") else 500)

    with answering(answer) as url:
        where = url.replace("http", "json")
        (tmp_path / "config.toml").write_text(f'notify.mail.apprise = ["{where}/good", "{where}/bad"]')
        (tmp_path / "config.toml").chmod(0o600)
        contexts = load({"KAC_CONFIG": str(tmp_path / "config.toml")}, tmp_path)
        good, bad = deliveries(contexts.receiver("mail"))
        with outbox(good) as (of_good, _), outbox(bad) as (of_bad, _):
            of_good.put(EVENT)
            of_bad.put(EVENT)
            until(lambda: of_bad.counts.failed > 2 and of_good.counts.delivered)
    assert asked.count("/good") == 1


DRIPS = """
import sys, time
from console.contexts.receivers import FIELDS, Chats, Receiver
from console.model.secret import Secret
from console.telling.message import Event
from console.telling.outbox import Outbox
from console.telling.receivers import deliveries

ways = deliveries(Receiver("mail", Chats(tuple(map(Secret, sys.argv[1:])))))
boxes = [Outbox("mail", way, print) for way in ways]
for box in boxes:
    box.put(Event({}, {**dict.fromkeys(FIELDS, "x"), "event": "came"}))
sys.stdin.readline()
for box in boxes:
    box.close(0.1)
"""


def test_kac_ends_while_receivers_drip(tmp_path: Path) -> None:
    pytest.importorskip("apprise")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"json://127.0.0.1:{server.getsockname()[1]}"
        words = [sys.executable, "-c", DRIPS, f"{url}/a", f"{url}/b"]
        with Child(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            taken = [server.accept()[0] for _ in range(2)]
            over = threading.Event()

            def drip() -> None:
                for each in taken:
                    each.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                with suppress(OSError):  # the process has ended
                    while not over.wait(0.2):
                        for each in taken:
                            each.sendall(b"x")

            dripping = threading.Thread(target=drip, daemon=True)
            dripping.start()
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.close()
            # The process ends before its receivers do.
            assert process.wait(PATIENCE) == 0
            over.set()
            dripping.join()
            for each in taken:
                each.close()


def test_apprise_is_bounded_and_one_attempt_runs_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apprise")
    monkeypatch.setattr("console.telling.receivers.CHAT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        deliver = receiver(tmp_path, f'notify.chat.apprise = "json://127.0.0.1:{server.getsockname()[1]}"')
        with pytest.raises(NotDelivered, match=r"the receiver does not take it within 0\.2 s"):
            deliver(EVENT)
        with pytest.raises(NotDelivered, match="the attempt before has not ended"):
            deliver(EVENT)


# -- queues and retries ------------------------------------------------------------------------------------------------


def test_a_receiver_that_fails_twice_gets_each_event_once_and_in_order() -> None:
    got: list[str] = []
    attempts = iter([False, False, True, True])

    def deliver(each: Any) -> None:
        if not next(attempts):
            raise NotDelivered("refused")
        got.append(each.text)

    others = [event(told(title=title), "prod", "id-1") for title in ("one", "two")]
    with outbox(deliver) as (box, lines):
        for each in others:
            box.put(each)
        until(lambda: len(got) == 2)
        until(lambda: box.counts.delivered == 2)
    assert got == [each.text for each in others]
    assert box.counts == (2, 2, 0)
    assert lines == ["chat does not take messages: refused; kac tries again", "chat takes messages again"]


def test_a_dead_receiver_holds_up_nothing_and_what_is_dropped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "MOST", 3)

    def deliver(_: Any) -> None:
        raise NotDelivered("refused")

    with outbox(deliver, rests=(PATIENCE,)) as (box, lines):
        box.put(EVENT)
        until(lambda: box.counts.failed)
        began = time.monotonic()
        for _ in range(1000):
            box.put(EVENT)
        assert time.monotonic() - began < PATIENCE / 10
    # Three events waited, and one was being sent.
    assert box.counts == (0, 1, 1001)
    line = "chat was not told: HIGH broker 2 is down (prod): "
    assert lines[0] == "chat does not take messages: refused; kac tries again"
    assert lines[1] == f"{line}more than 3 wait"
    ends = lines.count(f"{line}kac ends")
    assert ends in (1, 2)  # the thread of the event that was being sent may drop it first
    assert f"chat was not told of {1001 - 1 - ends} more: kac.log has them" in lines
    assert len(lines) == 3 + ends


def test_an_event_is_tried_for_its_time_alone_and_a_final_refusal_once() -> None:
    def deliver(_: Any) -> None:
        raise NotDelivered("refused")

    with outbox(deliver, longest=0.05) as (box, lines):
        box.put(EVENT)
        until(lambda: box.counts.dropped)
        assert box.counts.failed > 1
        assert lines[-1] == "chat was not told: HIGH broker 2 is down (prod): refused"

    def refuse(_: Any) -> None:
        raise NotDelivered("no such hook", is_final=True)

    with outbox(refuse) as (box, lines):
        box.put(EVENT)
        until(lambda: box.counts.dropped)
        assert box.counts.failed == 1


def test_a_slow_receiver_gets_what_waits_at_the_end_if_there_is_time() -> None:
    go = threading.Event()
    got: list[str] = []

    def deliver(each: Any) -> None:
        go.wait(PATIENCE)
        got.append(each.text)

    box = Outbox("chat", deliver, lambda _: None)
    box.put(EVENT)
    box.put(EVENT)
    threading.Timer(0.05, go.set).start()
    box.close(PATIENCE)
    assert len(got) == 2
    assert box.counts == (2, 0, 0)


# -- from verdicts to a receiver ---------------------------------------------------------------------------------------


async def test_a_cause_is_told_once_each_to_a_receiver_that_fails_twice_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    from console.model.cluster import ClusterInfo
    from console.model.snapshot import Snapshot

    statuses = (200, 503, 503, 200, 200)
    snapshot = Snapshot(cluster=ClusterInfo("id-1", 1, ()))
    muted = claim(group="other")
    with keeping(*statuses) as (url, asked), outbox(receiver(tmp_path, f'notify.chat.url = "{url}"')) as (box, _):
        MutedCauses(tmp_path / "kac" / "muted.json").write(
            "id-1", {"broker-down:group:other": datetime.max.replace(tzinfo=UTC)}
        )
        seconds = 0
        voice = Voice("prod", [box], lambda: seconds)
        for seconds in range(0, 240, 5):
            severity = Severity.WARNING if seconds < 60 else Severity.CRITICAL
            causes = [Named(claim(severity=severity), {})] if seconds < 120 else []
            at = datetime.fromtimestamp(AT.timestamp() + seconds, UTC)
            await voice.judged(Verdict(at, (*causes, Named(muted, {})), (), ()), snapshot, 0.01)
        until(lambda: box.counts.delivered == 3)
    delivered = [json.loads(each.body) for each, status in zip(asked, statuses, strict=True) if status == 200]
    assert [(each["event"], each["severity"], each["was"]) for each in delivered] == [
        ("came", "warning", None),
        ("worse", "critical", "warning"),
        ("gone", "critical", "critical"),
    ]
    assert delivered[2]["at"] == f"2026-03-01T03:0{(120 + HELD.total_seconds()) // 60:.0f}:00.000Z"
    assert box.counts == (3, 2, 0)
    assert {each["cluster"] for each in delivered} == {"id-1"}


# -- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("notify = 1", ":1: notify is a table, [notify]"),
        ("[notify]\nchat = 1", ":2: chat is a table, [notify.chat]"),
        ("[notify.chat]", ":1: a receiver has one of url, command, apprise"),
        ('[notify.chat]\nurl = "x"\ncommand = ["y"]', ":1: a receiver has one of url, command, apprise"),
        ('[notify.chat]\nurl = "x"\nheadrs = 1', ":3: there is no key 'headrs'"),
        ('[notify.chat]\ncommand = ["y"]\nurll = 1', ":3: there is no key 'urll'"),
        ('[notify.chat]\ncommand = "page now"', ":2: command is a list of texts"),
        ('[notify.chat]\nurl = "x"\nheaders = { "a b" = "c" }', ":3: 'a b' is no header that can be set"),
        ('[notify.chat]\nurl = "x"\nheaders = { host = "c" }', ":3: 'host' is no header that can be set"),
        (
            '[notify.chat]\nurl = "x"\ntoken = "y"\nheaders = { Authorization = "c" }',
            "Authorization is given, and token",
        ),
        (
            '[notify.chat]\nurl = "x"\njson = { text = "{titel}" }',
            "json: there is no key 'titel'; did you mean title?",
        ),
        ('[notify.chat]\nurl = "x"\njson = { at = 2026-01-01 }', ":1: json has texts, numbers, true, false"),
        ('[notify.chat]\nurl = "x"\njson = { at = [nan] }', ":1: json has texts, numbers, true, false"),
        ("[notify.chat]\napprise = []", ":2: apprise is a URL of apprise, or a list of them"),
    ],
)
def test_what_is_wrong_with_a_receiver_is_said_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    contexts = load({"KAC_CONFIG": str(file)}, tmp_path)
    assert any(why in each for each in contexts.own_problems), contexts.own_problems
    with pytest.raises(ContextError):
        contexts.receiver("chat")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'url = "https://h/{SECRET}#a"', "url: it is no address such as"),
        (f'url = "ftp://h/{SECRET}"', "url: it is no address such as"),
        (f'url = "https://user:{SECRET}@h/"', "it has a user or a password in it"),
        ('url = "https://h/${env:NONE}"', "the environment has no variable NONE"),
        ('url = "https://h/"\nheaders = { X = "${env:TWO_LINES}" }', "X: it has characters that no header has"),
        ('url = "https://h/"\nheaders = { X = "${prompt}" }', "the secret can be asked for only at the start"),
    ],
)
def test_a_receiver_that_can_not_be_used_is_refused_without_its_secret(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ContextError) as refused:
        receiver(tmp_path, f"[notify.chat]\n{text}", TWO_LINES="a\r\nHost: b")
    assert why in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_file_with_secrets_that_others_read_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'notify.chat.url = "http://10.0.0.1/{SECRET}"\nnotify.chat.token = "x"')
    file.chmod(stat.S_IMODE(0o644))
    found = load({"KAC_CONFIG": str(file)}, tmp_path).receiver("chat")
    assert any("others may read it" in each for each in found.warnings)
    assert any("the login is sent in the clear" in each for each in found.warnings)
    assert SECRET not in repr(found) + str(found.warnings)


def test_the_known_receivers_are_said_and_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ContextError, match=r"there is no receiver 'chat': there are pager"):
        receiver(tmp_path, 'notify.pager.command = ["x"]')
    (tmp_path / "config.toml").write_text('notify.pager.command = ["x"]\nnotify.chat.command = ["x"]')
    monkeypatch.setenv("KAC_CONFIG", str(tmp_path / "config.toml"))
    assert candidates("bash", "kac triage --watch --notify ", "", names) == ["chat", "pager"]
