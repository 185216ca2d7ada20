"""Request logs in the forms that layouts, shippers and runtimes give them: the same rows as plain ones, or a refusal
that names the form. The forms are built by the documents of what writes them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.inputs import Inputs, RequestLog, UnreadableInput
from console.lake.plans import RequestLogs, Settings, TooMuchIsBad
from console.lake.requests import lines
from console.lake.requests import lines as forms
from console.lake.requests.counted import Whose, counted
from console.lake.requests.log_files import LONGEST_LINE, BrokerLog, plan
from console.lake.streams import rows_of_records
from console.session.request_log_tail import RequestLogTails
from tests.lake.known_requests import all_rows
from tests.lake.request_lines import Logged, alter_configs, fetch, metadata, produce
from tests.support.expressions import cpu_seconds

ZONE = "Asia/Kolkata"
"""That is given: where a line has a zone of its own, this one would be wrong by hours."""
Made = Callable[[Logged], str]


def local(asked: Logged) -> datetime:
    """The same moment by the clock of `ZONE`."""
    return asked.at + timedelta(hours=5, minutes=30)


def plain(asked: Logged) -> str:
    return f"[{local(asked):%Y-%m-%d %H:%M:%S},{asked.at.microsecond // 1000:03}] DEBUG {message(asked)} " + LOGGER


def logger_first(asked: Logged) -> str:
    """Nothing stands behind the request."""
    at = f"{local(asked):%Y-%m-%d %H:%M:%S},{asked.at.microsecond // 1000:03}"
    return f"{at} DEBUG [data-plane-kafka-request-handler-3] logger:249 - {message(asked)}"


def message(asked: Logged) -> str:
    return f"Completed request:{asked.text}"


LOGGER, MARK = "(kafka.request.logger)", forms.MESSAGE.decode()
# What another clock than the logger's shows.
WRONG, WRONG_LOCAL, WRONG_MS = "2026-11-21T11:11:11.111Z", "2026-11-21 11:11:11,111", 1_795_259_471_111


def iso(asked: Logged, zone: tzinfo = UTC, digits: int = 3) -> str:
    at = asked.at.replace(tzinfo=UTC).astimezone(zone)
    end = "Z" if zone is UTC else at.strftime("%z")
    return f"{at:%Y-%m-%dT%H:%M:%S}.{f'{at.microsecond:06}000'[:digits]}{end}"


def millis(asked: Logged) -> int:
    return (asked.at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)


def ecs(asked: Logged) -> str:
    """EcsLayout.json, and logback's ECS encoder."""
    return json.dumps(
        {
            "@timestamp": iso(asked, digits=9),
            "ecs.version": "1.2.0",
            "log.level": "DEBUG",
            "message": message(asked),
            "process.thread.name": "data-plane-kafka-request-handler-3",
            "log.logger": "kafka.request.logger",
        }
    )


def logstash(asked: Logged) -> str:
    """LogstashJsonEventLayoutV1.json, logback's encoder, log4j 1's JSONEventLayoutV1: with an offset."""
    zone = timezone(timedelta(hours=-3))
    fields = {"@version": 1, "message": message(asked), "source_host": "b1", "@timestamp": iso(asked, zone)}
    return json.dumps(fields | {"logger_name": "kafka.request.logger", "level": "DEBUG"}, ensure_ascii=False)


def json_layout(asked: Logged) -> str:
    """JsonLayout.json of log4j 2 from 2.11 on: the message comes behind the time, both in the middle."""
    seconds, rest = divmod(millis(asked), 1000)
    instant = {"epochSecond": seconds, "nanoOfSecond": rest * 1_000_000 + 789}
    fields = {"instant": instant, "thread": "request-handler-0", "level": "DEBUG", "message": message(asked)}
    return json.dumps(fields | {"loggerName": "kafka.request.logger", "contextMap": {"timestamp": WRONG}})


def json_layout_before(asked: Logged) -> str:
    return json.dumps({"timeMillis": millis(asked), "level": "DEBUG", "message": message(asked)})


def gelf(asked: Logged) -> str:
    return json.dumps(
        {"version": "1.1", "host": "b1", "short_message": message(asked), "timestamp": millis(asked) / 1e3}
    )


def gcp(asked: Logged) -> str:
    return json.dumps({"timestamp": iso(asked), "severity": "DEBUG", "message": message(asked)})


def logback(asked: Logged) -> str:
    """logback-contrib's JsonLayout: a local time without a zone."""
    at = f"{local(asked):%Y-%m-%d %H:%M:%S}.{asked.at.microsecond // 1000:03}"
    return json.dumps({"timestamp": at, "level": "DEBUG", "logger": "kafka.request.logger", "message": message(asked)})


def of_a_pod(asked: Logged) -> str:
    """It ends like a request does."""
    return json.dumps({"@timestamp": iso(asked), "message": message(asked), "kubernetes": {"pod": {"name": "b1"}}})


def in_docker(made: Made) -> Made:
    return lambda asked: json.dumps({"log": made(asked) + "\n", "stream": "stdout", "time": WRONG})


def in_filebeat(made: Made) -> Made:
    return lambda asked: json.dumps({"@timestamp": WRONG, "@metadata": {"beat": "filebeat"}, "message": made(asked)})


def behind(before: str, made: Made = plain) -> Made:
    return lambda asked: before + made(asked)


def with_zone(end: str, zone: tzinfo) -> Made:
    return lambda asked: (
        plain(asked)
        .replace(
            f"[{local(asked):%Y-%m-%d %H:%M:%S}",
            f"[{asked.at.replace(tzinfo=UTC).astimezone(zone):%Y-%m-%dT%H:%M:%S}",
            1,
        )
        .replace("] DEBUG", f"{end}] DEBUG", 1)
    )


RFC3164, RFC5424 = "<14>Nov 21 11:11:11 b1 kafka[77]: ", f"<14>1 {WRONG} b1 kafka 77 - - "
CRI = "2026-11-21T11:11:11.111222333Z stdout F "
FORMS: dict[str, Made] = {
    "ecs": ecs,
    "logstash": logstash,
    "json layout": json_layout,
    "json layout before 2.11": json_layout_before,
    "gelf": gelf,
    "gcp": gcp,
    "logback": logback,
    "docker": in_docker(plain),
    "docker of ecs": in_docker(ecs),
    "filebeat of docker of json": in_filebeat(in_docker(json_layout)),
    "journal": lambda asked: json.dumps({"__REALTIME_TIMESTAMP": str(WRONG_MS * 1000), "MESSAGE": plain(asked)}),
    "splunk": lambda asked: json.dumps({"time": millis(asked) / 1e3, "event": message(asked)}),
    "micros as text": lambda asked: json.dumps({"ts": str(millis(asked) * 1000), "msg": message(asked)}),
    "rfc 3164": behind(RFC3164),
    "rfc 3164 with json": behind(RFC3164, ecs),
    "rfc 5424": behind(RFC5424),
    "rfc 5424 with json": behind(RFC5424, gcp),
    "rfc 5424, its time alone": lambda asked: f"<14>1 {iso(asked, digits=6)} b1 kafka 77 - - {message(asked)}",
    "cri": behind(CRI),
    "cri with json": behind(CRI, logstash),
    "the logger first": logger_first,
    "cri with the logger first": behind(CRI, logger_first),
    "json of a pod": of_a_pod,
    "a thread behind": lambda asked: f"{plain(asked).removesuffix(LOGGER)}[data-plane-kafka-request-handler-3]",
    "braces behind": lambda asked: f"{plain(asked)} {{}} {{listener=SASL}}",
    "docker compose": behind("broker-1  | "),
    "kubectl": behind("[pod/kafka-0/kafka] "),
    "journalctl": behind("Nov 21 11:11:11 b1.example.com kafka-server-start.sh[77]: "),
    "journalctl with the year": behind("2026-11-21T11:11:11+0000 b1 kafka[77]: "),
    "the class that logs": lambda asked: (
        plain(asked)
        .replace(
            "DEBUG ",
            "DEBUG [data-plane-kafka-network-thread-1-ListenerName(SASL)-SASL_SSL-2] RequestChannel$:249 - ",
            1,
        )
        .removesuffix(LOGGER)
    ),
    "as jboss does": lambda asked: (
        plain(asked)
        .replace(
            "DEBUG ",
            "DEBUG [kafka.request.logger] (data-plane-kafka-network-thread-1-ListenerName(SASL)-SASL_SSL-2) ",
            1,
        )
        .removesuffix(LOGGER)
    ),
    "a short name of the logger": lambda asked: plain(asked).replace("DEBUG ", "DEBUG k.r.logger : ", 1) + " ",
    "fields": lambda asked: plain(asked).replace("DEBUG ", "level=DEBUG thread=7 logger=kafka.request.logger msg=", 1),
    "ecs with objects": lambda asked: json.dumps(
        {"@timestamp": iso(asked), "log": {"level": "DEBUG", "logger": "kafka.request.logger"}, "msg": message(asked)}
    ),
    "in colours": lambda asked: f"\x1b[32m{plain(asked)}\x1b[m",
    "in colours without a logger": lambda asked: f"\x1b[32m{plain(asked).removesuffix(LOGGER)}\x1b[m",
    "utc": with_zone("Z", UTC),
    "named utc": with_zone(" UTC", UTC),
    "an offset": with_zone("-0330", timezone(-timedelta(hours=3, minutes=30))),
    "an offset behind a blank": with_zone(" +02:00", timezone(timedelta(hours=2))),
    "an offset of hours": with_zone("+02", timezone(timedelta(hours=2))),
}

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ASKED = st.one_of(
    st.builds(
        lambda name, size, ms: produce(size, client_id=name, throttle_ms=ms),
        NAMES,
        st.integers(0, 9),
        st.integers(0, 5),
    ),
    st.builds(lambda name, value: alter_configs([("retention.ms", 0, value)], client_id=name), NAMES, NAMES),
    NAMES.map(lambda name: metadata(error=3, client_id=name)),
    st.just(fetch(7, replica=2)),
)
LATER = st.integers(0, 4000)


def rows(text: bytes) -> dict[str, list[Any]]:
    """What a block gives, without places."""
    found = pa.Table.from_batches(counted(Whose("c", 1, "x", ZONE), [(0, text)])).to_pylist()
    seconds = sorted((tuple(row["second"].items()) for row in found if row["second"]), key=repr)
    alters = [{**row["alter"], "byte_pos": 0} for row in found if row["alter"]]
    return {"seconds": seconds, "alters": alters, "bad": [row["quarantined"] for row in found if row["quarantined"]]}


@given(st.lists(st.tuples(ASKED, LATER), min_size=1, max_size=5), st.sampled_from(sorted(FORMS)))
def test_a_request_in_any_form_gives_the_rows_of_the_plain_one(asked: list[tuple[Logged, int]], form: str) -> None:
    requests = [each.later(number * 0.25) for each, number in asked]
    wanted = rows("".join(f"{plain(each)}\n" for each in requests).encode())
    assert wanted["bad"] == []
    assert rows("".join(f"{FORMS[form](each)}\n" for each in requests).encode()) == wanted


@pytest.mark.parametrize("form", FORMS)
def test_the_time_is_the_loggers_own(form: str) -> None:
    """By hand, without the reader of plain lines."""
    asked = alter_configs([("a", 0, "b")])
    (row,) = rows(FORMS[form](asked).encode())["alters"]
    assert row["end_ts"] == datetime(2026, 11, 21, 10, 0, 0, 123000, UTC)
    assert row["principal"] == "User:alice"
    ((_, shown),) = lines.clocks(0, FORMS[form](asked).encode())
    assert shown in {row["end_ts"], local(asked)} if shown.tzinfo else shown == local(asked)


def test_forms_may_change_within_a_file(tmp_path: Path) -> None:
    path = tmp_path / "request.log.gz"
    made = [form(alter_configs([("a", 0, str(number))]).later(number)) for number, form in enumerate(FORMS.values())]
    path.write_bytes(gzip.compress("\n".join(made).encode() + b"\n"))
    log = BrokerLog("c", 1, plan([str(path)], {}).spans, ZONE)
    wanted = [datetime(2026, 11, 21, 10, 0, 0, 123000, UTC) + timedelta(seconds=number) for number in range(len(FORMS))]
    assert [row["end_ts"] for row in all_rows([log], "alter")] == wanted


def test_a_zone_of_the_line_is_right_in_the_hour_that_clocks_show_twice(tmp_path: Path) -> None:
    """Of plain lines the file would be refused: nothing says of which pass it is."""
    path = tmp_path / "request.log"
    nights = [alter_configs([("a", 0, "b")], at=datetime(2026, 10, 25, hour, 30)) for hour in (1, 0, 1)]
    path.write_text("".join(f"{ecs(each)}\n" for each in nights))
    log = BrokerLog("c", 1, plan([str(path)], {}).spans, "Europe/Berlin")
    assert [row["end_ts"].hour for row in all_rows([log], "alter")] == [1, 0, 1]


@pytest.mark.parametrize("form", ["ecs", "docker", "json layout", "rfc 5424"])
def test_a_record_of_a_topic_may_have_any_form(form: str) -> None:
    asked = alter_configs([("a", 0, "b")])
    text = FORMS[form](asked)
    spread = json.dumps(json.loads(text), indent=2) if text.startswith("{") else text
    columns = {"key": [b"3"] * 2, "value": [text.encode(), spread.encode()], "partition": [0, 0], "offset": [5, 6]}
    found = pa.Table.from_batches(rows_of_records(pa.record_batch(columns), Whose("c", -1, "t", ZONE))).to_pylist()
    made = [row["alter"] for row in found if row["alter"]]
    assert [(row["broker_id"], row["end_ts"].hour, row["byte_pos"]) for row in made] == [(3, 10, 5), (3, 10, 6)]


# -- the text of a request in a name that another logger writes ------------------------------------------------------

AT, TYPE = "[2026-11-21 10:00:00,123]", "kafka.coordinator.group.GroupCoordinator"


def of_another(key: str) -> Made:
    return lambda asked: json.dumps({"@timestamp": WRONG, key: TYPE, "msg": message(asked)})


PLANTED: dict[str, Made] = {
    "the logger behind": lambda asked: f"{AT} DEBUG {message(asked)} in group g has failed ({TYPE})",
    "both loggers behind": lambda asked: f"{AT} DEBUG {message(asked)} {LOGGER} has failed ({TYPE})",
    "in brackets behind, in colours": lambda asked: f"\x1b[32m{AT} DEBUG {message(asked)} [{TYPE}]\x1b[m",
    "words": lambda asked: f"{AT} DEBUG [GroupCoordinator 1]: Member {message(asked)}",
    "a thread of words": lambda asked: f"{AT} DEBUG [GroupCoordinator 1]: {message(asked)}",
    "a time of its own": lambda asked: f"{AT} INFO Member 2020-01-01 00:00:00 {message(asked)}",
    "a whole line": lambda asked: f"{AT} INFO Member {plain(asked).removesuffix(LOGGER)}",
    "the logger in front": lambda asked: f"{AT} DEBUG {TYPE}: {message(asked)}",
    "the logger in front, in brackets": lambda asked: f"{AT} DEBUG [{TYPE}] {message(asked)}",
    "like syslog": lambda asked: f"2026-11-21T10:00:00,123 DEBUG {TYPE}: {message(asked)}",
    "in a container": lambda asked: f"{CRI}{AT} INFO Member {message(asked)} ({TYPE})",
    "an object": lambda asked: f"{AT} INFO [GroupCoordinator 1]: Member {ecs(asked)}",
    "json of words": lambda asked: ecs(asked).replace("Completed", "Member Completed"),
    **{f"json with {key}": of_another(key) for key in ("logger", "loggerName", "logger_name", "log.logger", "_logger")},
    "json with an object": lambda asked: json.dumps(
        {"@timestamp": WRONG, "log": {"logger": TYPE}, "message": message(asked)}
    ),
    "docker of json": lambda asked: in_docker(PLANTED["json with loggerName"])(asked),
}


@pytest.mark.parametrize("form", PLANTED)
def test_a_request_in_another_loggers_line_is_none_and_no_damage(form: str) -> None:
    text = PLANTED[form](alter_configs([("a", 0, "b")], principal="User:victim")).encode()
    assert lines.one_line(0, text) is None
    assert rows(text) == {"seconds": [], "alters": [], "bad": []}
    assert list(lines.clocks(0, text)) == []
    assert lines.form_of(text) is lines.OF_UNKNOWN


WORDS = st.from_regex(r"[A-Z][a-z]{3,9}( [a-z]{2,9}){0,3}", fullmatch=True)


@given(ASKED, WORDS, st.sampled_from(["", "2020-01-01 00:00:00 ", f"{AT} DEBUG ", f"{AT} DEBUG {{}} logger - "]))
def test_words_of_another_logger_before_a_planted_line_leave_no_request(asked: Logged, words: str, own: str) -> None:
    """The text is a client's from `own` on; in a log whose lines name no logger, too."""
    for head in (f"{AT} INFO ", f"{CRI}{AT} DEBUG [main] "):
        text = f"{head}{words} {own}{message(asked)}\n{plain(asked)}\n".encode()
        assert rows(text) == rows(plain(asked).encode())


# -- what is no request in a form that is known, and what is foreign --------------------------------------------------

OLD_LINE = (
    "[2020-03-01 10:00:00,123] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId=app, "
    "correlationId=3) -- {replica_id=-1,max_wait_time=500,topics=[]},response:{throttle_time_ms=0} from connection "
    "10.0.0.1:9092-10.0.0.2:4000-1;totalTime:1.2,principal:User:alice (kafka.request.logger)"
)
OLDER_LINE = (
    "[2017-03-01 10:00:00,123] DEBUG Completed request:{api_key=3,api_version=1,correlation_id=7,client_id=app} -- "
    "{topics=[]} from connection 10.0.0.1:9092-10.0.0.2:4000;totalTime:1,principal:User:alice (kafka.request.logger)"
)
OTHER = (
    "[2026-11-21 10:00:00,123] INFO [GroupCoordinator 1]: Stabilized group (kafka.coordinator.group.GroupCoordinator)"
)
_ASKED = produce(5)
_XML_LINE = (
    f'<Event xmlns="http://logging.apache.org/log4j/2.0/events" timeMillis="{millis(_ASKED)}" level="DEBUG">'
    f"<Message>{escape(message(_ASKED), quote=True)}</Message></Event>"
)
_XML_SPREAD = f'<Event timeMillis="1">\n  <Message><![CDATA[{message(_ASKED)}]]></Message>\n</Event>'
UNREAD: dict[str, tuple[str, lines.Form]] = {
    "before 2.8": (OLD_LINE, forms.OF_OLD),
    "before 1.0": (OLDER_LINE, forms.OF_OLD),
    "before 2.8 in docker": (json.dumps({"log": OLD_LINE + "\n", "time": WRONG}), forms.OF_OLD),
    "other loggers": (OTHER, forms.OF_OTHERS),
    "other loggers' json": (json.dumps({"@timestamp": WRONG, "message": "up"}), forms.OF_OTHERS),
    "xml": (_XML_LINE, forms.OF_XML),
    "xml of several lines": (_XML_SPREAD, forms.OF_XML),
    "json of several lines": (json.dumps(json.loads(ecs(_ASKED)), indent=2), forms.OF_SPREAD),
    "json without a time": (json.dumps({"level": "DEBUG", "message": message(_ASKED)}), forms.OF_JSON_WITHOUT_TIME),
    "json of another field": (json.dumps({"@timestamp": WRONG, "payload": message(_ASKED)}), forms.OF_CUT_JSON),
    "docker's cut": (json.dumps({"log": plain(_ASKED)[:200], "time": WRONG}), forms.OF_CUT_JSON),
    "syslog without a year": (RFC3164 + message(_ASKED), forms.OF_SYSLOG),
    "no time": (f"DEBUG {message(_ASKED)}", forms.OF_NO_TIME),
    "the clock alone": (f"10:00:00,123 DEBUG {message(_ASKED)}", forms.OF_NO_TIME),
    "cut": (plain(_ASKED)[:150], forms.OF_CUT),
    "no text": ("\0\1\2" * 30, forms.OF_BINARY),
}


def source(path: Path, bad: float = 0.01) -> RequestLogs:
    return RequestLogs(Settings("", Inputs(request_logs=(RequestLog((f"{path}*",), "c", 1),)), "", bad))


@pytest.mark.parametrize("name", UNREAD)
def test_a_log_of_which_no_line_can_be_read_is_refused_with_its_form(tmp_path: Path, name: str) -> None:
    line, form = UNREAD[name]
    assert lines.form_of(line.encode()) is form
    path = tmp_path / "request.log"
    path.write_text(f"{line}\n" * 120)
    reading = source(path)
    with pytest.raises(UnreadableInput) as refused:
        reading.newest(reading.initial())
    said = str(refused.value)
    assert said.count(f"The request log of c/1 (cluster/broker) at {path}* is in the form of {form.what}: ") == 1
    assert said.endswith(form.remedy)
    tails = RequestLogTails([path])
    for _ in range(2):
        failure = tails.read().unread[str(path)]
        assert failure.name == "FORM"
        assert form.what in failure.message
        assert failure.remedy == form.remedy
    with path.open("a") as file:
        file.write(f"{plain(_ASKED)}\n")
    assert tails.read().unread == {}
    with path.open("a") as file:
        file.write(f"{OTHER}\n")
    assert tails.read().unread == {}


def test_a_source_with_any_line_that_can_be_read_is_not_refused_as_a_form(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{OTHER}\n" * 5000 + f"{plain(_ASKED)}\n" + f"{OTHER}\n" * 5000)
    reading = source(path)
    end = reading.newest(reading.initial())
    found = [row for part in reading.parts(reading.initial(), end) for row in _read(reading, part)]
    assert sum(row["lines"] for row in found) == 1
    # What follows has other loggers' lines alone.
    with path.open("a") as file:
        file.write(f"{OTHER}\n" * 500)
    later = reading.newest(end)
    assert [row["lines"] for part in reading.parts(end, later) for row in _read(reading, part)] == [0]
    # And then the form changes.
    with path.open("a") as file:
        file.write(f"{_XML_LINE}\n" * 500)
    last = reading.newest(later)
    (part,) = reading.parts(later, last)
    with pytest.raises(TooMuchIsBad, match="in the form of an XML layout: no line of it can be read"):
        _read(reading, part)


def test_few_lines_and_a_damage_that_is_known_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    path.write_text(f"{OLD_LINE}\n" * 99)
    reading = source(path)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    assert {row["quarantined"]["reason"] for row in _read(reading, part) if row["quarantined"]} == {lines.OLD}
    path.write_text(f"{OLD_LINE}\n" * 200)
    reading = source(path, bad=1.0)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    assert sum(row["damaged"] for row in _read(reading, part)) == 200


def _read(reading: RequestLogs, part: Any) -> list[dict[str, Any]]:
    return [row for batch in reading.read(part) for row in batch.to_pylist()]


def _wrapped(levels: int) -> str:
    made = plain(_ASKED)
    for _ in range(levels):
        made = json.dumps({"log": made})
    return made


_DEEP, _HALF = "[" * 200_000 + "]" * 200_000, '"\\ud800"'
ODD_TIMES = [
    '"2026-02-30T10:00:00Z"', '"2026-11-21T25:00:00Z"', '"0001-01-01T00:00:00+14:00"', '"9999-12-31T23:59:59-12:00"',
    '"2026-11-21T10:00:00+99:00"', "1e400", "-1e300", "1" * 400, "99999999999999999999999", '{"epochSecond":1e99}',
    '{"epochSecond":9223372036854775807}', '{"epochSecond":"1"}', "true", "null", "[]", '""', _HALF, _DEEP,
    '"' + "9" * 100_000 + '"', '"0001-01-01 00:00:00"', '"9999-12-31 23:30:00"', "99999999999999", "-1e9",
]  # fmt: skip


@pytest.mark.parametrize("time", ODD_TIMES, ids=range(len(ODD_TIMES)))
def test_odd_times_are_no_times_and_no_errors(time: str) -> None:
    line = f'{{"@timestamp":{time},"message":{json.dumps(message(_ASKED))}}}'.encode()
    assert isinstance(found := lines.one_line(0, line), lines.Damaged)
    assert found.reason == lines.NO_TIME
    assert list(lines.clocks(0, line)) == []
    lines.form_of(line)
    line = f'{{"x":{time},"@timestamp":"{iso(_ASKED)}","message":{json.dumps(message(_ASKED))}}}'.encode()
    assert isinstance(lines.one_line(0, line), lines.Line) == (time not in (_DEEP, _HALF))


def test_a_time_that_can_not_be_read_leaves_the_next_one() -> None:
    line = json.dumps({"@timestamp": "yesterday", "time": iso(_ASKED), "message": message(_ASKED)}).encode()
    found = lines.one_line(0, line)
    assert isinstance(found, lines.Line)
    assert (found.second, found.millis) == (datetime(2026, 11, 21, 10, tzinfo=UTC), 123)


def test_wrappers_are_opened_a_few_deep() -> None:
    assert isinstance(lines.one_line(0, _wrapped(4).encode()), lines.Line)
    assert isinstance(lines.one_line(0, _wrapped(6).encode()), lines.Damaged)


_HUGE = ['{"a":' * 300_000, "[" * 1_000_000, '{"message":"', f'{{"message":"{MARK}', "{" * 1_000_000 + MARK]


@pytest.mark.parametrize("begin", _HUGE, ids=range(len(_HUGE)))
def test_a_huge_line_takes_time_by_its_length(begin: str) -> None:
    line = (begin + "2026-11-21 10:00:00" * 100_000 + MARK + '{"' * 500_000).encode()
    assert len(line) < LONGEST_LINE
    assert cpu_seconds(lambda: isinstance(lines.one_line(0, line), lines.Damaged) and lines.form_of(line), 5.0) < 2
