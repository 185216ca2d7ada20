"""Tests of the text of a failure: one full stop between two sentences, and no requests as Java prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import failure
from console.model.failure import Failure, sentences, without_objects
from console.present.failures import failure_text

TEXTS = st.text("ab c.!?", min_size=1).map(str.strip).filter(bool)


@given(TEXTS, TEXTS)
def test_two_sentences_are_parted_once(text: str, remedy: str) -> None:
    told = sentences(text, remedy)
    assert told.startswith(text)
    assert told.endswith(remedy)
    between = told[len(text) : len(told) - len(remedy)]
    assert between == (" " if text[-1] in ".!?" else ". ")


@given(TEXTS)
def test_without_a_remedy_the_text_stands_alone(text: str) -> None:
    assert sentences(text, "") == text


def test_a_refusal_reads_as_a_sentence_with_one_full_stop() -> None:
    refused = Failure("POLICY_VIOLATION", "Too large.", "Send less.")
    assert refused.told == failure_text(refused) == "POLICY_VIOLATION: Too large. Send less."
    said = (
        "Request Request(processor=0, connectionId=10.0.0.1:9092-10.0.0.2:5-0, listenerName=ListenerName(IN), "
        "securityProtocol=PLAINTEXT, buffer=null, envelope=None) needs ALTER permission."
    )
    assert failure(31, said).message == "the request needs ALTER permission."


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "Unable to handle CreateTopicsRequestData(topics=[CreatableTopic(name='a(b)', assignments=[])], v=1) now.",
            "Unable to handle CreateTopicsRequestData(…) now.",
        ),
        ("AlterConfigsRequest(never closed", "AlterConfigsRequest(…)"),
        ("two: FetchRequest(a) and FetchResponse(b(c))", "two: FetchRequest(…) and FetchResponse(…)"),
        ("Unknown topic config name: a(b)", "Unknown topic config name: a(b)"),
    ],
)
def test_printed_requests_are_left_out(message: str, told: str) -> None:
    assert without_objects(message) == told
    assert failure(42, message).message == told


def test_a_long_message_is_passed_once() -> None:
    text = "FetchRequest(" * 5_000 + ")" * 5_000
    assert without_objects(text) == "FetchRequest(…)"
