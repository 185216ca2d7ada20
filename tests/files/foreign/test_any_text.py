"""Tests that kac, for any file in another tool's format, returns the wanted state, or problems with the numbers of
their lines.
"""

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from console.files.foreign import DOCUMENT_FORMS, TEXT_FORMS
from console.files.read import Read, for_cluster
from console.files.reading import take_text
from console.model.yaml_places import Document, FileProblem, FileProblems, read_documents
from tests.files.foreign.test_kafka_listings import ACLS, CONFIGS
from tests.files.foreign.test_reassignment import LIST
from tests.files.foreign.test_strimzi import TOPIC, USER
from tests.files.foreign.test_topicctl import TOPIC as TOPICCTL

GOOD = (TOPIC, USER, TOPICCTL, LIST, ACLS, CONFIGS)
TOP = ("apiVersion", "kind", "metadata", "spec", "meta", "version", "items", "List", "KafkaTopic", "KafkaUser")
INNER = (
    "labels",
    "name",
    "config",
    "partitions",
    "replicas",
    "topic",
    "acls",
    "quotas",
    "resource",
    "settings",
    "type",
)
VALUES = ("kafka.strimzi.io/v1", "partition", "log_dirs", "authorization", "simple", "1", "0x1")
WORDS = st.sampled_from((*TOP, *INNER, *VALUES))
LEAVES = WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=20
)


def taken(text: str) -> None:
    read = Read()
    with suppress(FileProblem, FileProblems):
        problems = take_text(text, "here", read)
        assert all(isinstance(each, FileProblem) for each in problems)
        for_cluster(read, None)


@given(st.text())
def test_any_text(text: str) -> None:
    taken(text)


@given(st.sampled_from(GOOD), st.data())
def test_a_good_text_with_a_piece_replaced(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    taken(text[:start] + data.draw(st.text(max_size=6) | WORDS) + text[end:])


@given(
    DATA, st.sampled_from([{}, {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaUser", "metadata": {"name": "a"}}])
)
def test_any_data(data: object, head: dict[str, object]) -> None:
    """Each format that recognizes a document as its own reads it without an exception, and no format recognizes an
    empty document.
    """
    whole = {**data, **head} if isinstance(data, dict) else {**head, "spec": data}
    try:
        documents = read_documents(json.dumps(whole, ensure_ascii=False), "here")
    except FileProblem:
        return  # YAML refuses some characters that JSON may have
    for document in documents:
        for form in DOCUMENT_FORMS:
            if form.owns(document.data):
                list(form.take(document, Read()))
        assert not any(form.owns(Document("here", None).data) for form in DOCUMENT_FORMS)


@given(st.sampled_from(GOOD), st.text())
def test_any_lines(text: str, more: str) -> None:
    for form in TEXT_FORMS:
        assert all(isinstance(problem, FileProblem) for problem in form.take(text + more, "here", Read()))
