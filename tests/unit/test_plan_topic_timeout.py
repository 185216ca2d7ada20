"""Tests that a topic's own timeout is sent in the request that creates the topic."""

from console.model.changes import CreateTopics, NewTopic
from console.model.config import topic_resource
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan
from console.plan.edits import CreateTopic, SetConfig
from console.plan.plan import EMPTY, stage
from console.plan.requests import Facts


def requests(*topics: NewTopic) -> list[CreateTopics]:
    staged = stage(EMPTY, [CreateTopic(topic) for topic in topics], Snapshot()).plan
    steps = compile_plan(staged, Facts())
    return [step.request for step in steps if isinstance(step.request, CreateTopics)]


def test_the_longest_timeout_of_a_request_decides_and_without_one_it_keeps_its_own() -> None:
    (request,) = requests(NewTopic("a", 1, 1, timeout_ms=90_000), NewTopic("b", 1, 1, timeout_ms=5_000))
    assert request.timeout_ms == 90_000
    (request,) = requests(NewTopic("a", 1, 1))
    assert request.timeout_ms == CreateTopics(()).timeout_ms


def test_a_folded_config_keeps_the_timeout() -> None:
    edits = [CreateTopic(NewTopic("a", 1, 1, timeout_ms=7_000)), SetConfig(topic_resource("a"), "retention.ms", "1")]
    (step,) = compile_plan(stage(EMPTY, edits, Snapshot()).plan, Facts())
    assert isinstance(step.request, CreateTopics)
    assert step.request.timeout_ms == 7_000
    assert step.request.topics[0].configs == {"retention.ms": "1"}
