"""Tests of a flight record as a source of answers: to the recorded requests and to requests with other lists, at
times within the record, before it and after it.
"""

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from console.flight.answer import CONNECTED, Answer, Problem
from console.flight.tape import API_VERSIONS, Entry, Tape
from console.wire.frames import decode_body, encode_body, encode_payload
from console.wire.schemas import request_module, response_type
from tests.support import kafka_messages

CONFIGS, METADATA, OFFSETS, QUORUM = 32, 3, 2, 55
A, B = ("a", 9092), ("b", 9092)
LOST = Problem("Disconnected", "DISCONNECTED", "a:9092 was lost", "")


def tape(answers: Iterable[Answer], at_ms: int = 1 << 50) -> Tape:
    made = Tape(Entry(each.asked, each.at_ms, True, lambda each=each: each) for each in answers)  # type: ignore[misc]
    made.at_ms = at_ms
    return made


def answer(at: int, key: int, request: bytes, body: bytes, *, version: int = 4, address: tuple[str, int] = A) -> Answer:
    return Answer(at, 1, 1, *address, key, version, request, body, None)


# -- DescribeConfigs: any chunks, any order ------------------------------------------------------------------------


def configs_request(names: Sequence[str], documentation: bool = False) -> bytes:
    asked = kafka_messages.with_fields(
        resources=[(2, name, None) for name in names], include_synonyms=True, include_documentation=documentation
    )
    return encode_payload(asked(request_module("describe_configs", 4)))


def configs_answer(values: dict[str, str]) -> bytes:
    kind = response_type("describe_configs", 4)
    results = [
        (0, None, 2, name, [("retention.ms", value, False, 1, False, [], 5, None)]) for name, value in values.items()
    ]
    return encode_body(kind, kafka_messages.entity(kind, {"throttle_time": 0, "results": results}))


def values_in(body: object) -> dict[str, str]:
    assert isinstance(body, bytes)
    return {
        each.resource_name: each.configs[0].value
        for each in decode_body(response_type("describe_configs", 4), body).results
    }


@given(st.data())
def test_configs_are_found_in_other_lists(data: st.DataObject) -> None:
    """A request for the configs of any list of topics is answered with the newest recorded configs of each topic,
    whatever lists were recorded.
    """
    names = [f"t{n}" for n in range(8)]
    newest: dict[str, str] = {}
    answers = []
    for at in range(data.draw(st.integers(1, 6))):
        chunk = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        values = {name: f"{at}-{name}" for name in chunk}
        newest |= values
        answers.append(answer(at, CONFIGS, configs_request(chunk), configs_answer(values)))
    asked = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    found = tape(answers).answer(CONFIGS, 4, configs_request(asked, documentation=True), None)
    if all(name in newest for name in asked):
        whole = [each for each in answers if sorted(values_in(each.body)) == sorted(asked)]
        if whole:  # the same list was recorded: its newest answer counts
            assert values_in(found) == values_in(whole[-1].body)
        else:
            assert values_in(found) == {name: newest[name] for name in asked}
    else:
        assert found is None


QUESTION = b"\x01whole"


def test_the_newest_answer_of_the_broker_that_is_asked_counts() -> None:
    answers = [answer(at, QUORUM, QUESTION, bytes([at])) for at in (10, 20, 30)]
    found = [tape(answers, at).answer(QUORUM, 4, QUESTION, None) for at in (9, 10, 25, 99)]
    assert found == [None, b"\x0a", b"\x14", b"\x1e"]
    known = tape([answer(1, QUORUM, QUESTION, b"a"), answer(2, QUORUM, QUESTION, b"b", address=B)])
    assert known.answer(QUORUM, 4, QUESTION, A) == b"a"
    assert known.answer(QUORUM, 4, QUESTION, B) == known.answer(QUORUM, 4, QUESTION, None) == b"b"
    assert known.answer(QUORUM, 4, QUESTION, ("c", 1)) is None
    lost = answer(3, QUORUM, QUESTION, b"")._replace(problem=LOST)
    known = tape([answer(1, QUORUM, QUESTION, b"b", address=B), answer(2, QUORUM, QUESTION, b"a"), lost])
    assert known.answer(QUORUM, 4, QUESTION, A) == LOST
    assert known.answer(QUORUM, 4, QUESTION, None) == b"b"


def test_a_broker_that_refuses_is_asked_last_and_a_body_that_can_not_be_read_has_no_parts() -> None:
    refused = Answer(9, 1, 1, *A, API_VERSIONS, CONNECTED, b"", b"", LOST)
    known = tape([answer(1, QUORUM, QUESTION, b"b", address=B), answer(2, QUORUM, QUESTION, b"a"), refused])
    assert known.refusal(A) == LOST
    assert known.refusal(B) is None
    assert known.answer(QUORUM, 4, QUESTION, None) == b"b"
    known.at_ms = 8
    assert known.answer(QUORUM, 4, QUESTION, None) == b"a"
    known = tape([answer(1, CONFIGS, configs_request(["a", "b"]), b"\xff" * 9)])
    assert known.answer(CONFIGS, 4, configs_request(["a"]), None) is None
    assert known.answer(CONFIGS, 4, b"no request", None) is None


def test_one_topic_out_of_all() -> None:
    from datetime import timedelta
    from uuid import UUID

    version = 12
    kio = request_module("metadata", version)
    made = __import__(response_type("metadata", version).__module__, fromlist=["x"])

    def request(names: Sequence[str] | None) -> bytes:
        topics = None if names is None else tuple(kio.MetadataRequestTopic(name=n, topic_id=None) for n in names)
        return encode_payload(
            kio.MetadataRequest(
                topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=False
            )
        )

    topics = tuple(
        made.MetadataResponseTopic(
            error_code=0,
            name=name,
            topic_id=UUID(int=n + 1),
            is_internal=False,
            partitions=(),
            topic_authorized_operations=0,
        )
        for n, name in enumerate(("orders", "stock"))
    )
    whole = made.MetadataResponse(throttle_time=timedelta(), brokers=(), cluster_id="c", controller_id=1, topics=topics)
    body = encode_body(response_type("metadata", version), whole)
    known = tape([answer(1, METADATA, request(None), body, version=version)])
    found = known.answer(METADATA, version, request(["stock"]), None)
    assert isinstance(found, bytes)
    assert [each.name for each in decode_body(response_type("metadata", version), found).topics] == ["stock"]
    assert known.answer(METADATA, version, request(["gone"]), None) is None
