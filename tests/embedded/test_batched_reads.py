"""Several principals in one request where the cluster has the batched describes; in several at once where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.client import AdminClient
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.quota import QuotaEntity, QuotaValues, filter_for_name
from console.model.snapshot import Snapshot, with_acls_of, with_quotas_of
from console.session.script_runner import run_script
from tests.support import worlds
from tests.support.examples import examples

NAMES = ("alice", "bob", "nobody")


@pytest.fixture(scope="module", params=[True, False], ids=["batched", "pipelined"])
def cluster(request: pytest.FixtureRequest) -> Iterator[tuple[ThreadedCluster, bool]]:
    """One with the proposals' formats and one without."""
    with run_in_thread(ClusterSpec(scenario="quiet", proposals=request.param)) as running:
        yield running, request.param


def asked(running: ThreadedCluster, script: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, Counter[str]]:
    """What a script prints, and which requests it makes."""
    context = Context("test", "tests", worlds.settings(running))

    def connect(_context: Context) -> AdminClient:
        client = AdminClient(context.settings)
        client.start()
        return client

    running.call(lambda cluster: cluster.counters.reset())
    assert run_script(script, lambda: context, connect, output="text") == 0
    return capsys.readouterr().out, running.call(lambda cluster: cluster.counters.by_api())


def test_a_list_of_three_users_is_one_request_or_three(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, f"list users {' '.join(NAMES)}", capsys)
    each = 1 if batched else len(NAMES)
    assert (requests["describe_acls"], requests["describe_client_quotas"]) == (each, each)
    rows = [line.split() for line in text.splitlines() if line.startswith(NAMES)]
    assert [(row[0], row[1], row[-1]) for row in rows] == [("alice", "3", "3"), ("bob", "1", "2")]


def test_descriptions_of_three_users_are_read_at_once(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, "; ".join(f"describe user {name}" for name in NAMES), capsys)
    assert requests["describe_client_quotas"] == (1 if batched else len(NAMES))
    assert "client checkout" in text


def test_what_counts_is_read_with_all_its_levels(
    cluster: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    running, batched = cluster
    text, requests = asked(running, "effective user alice client checkout", capsys)
    # Batched there are two: `strict` is for all filters of a request, and a client's own level is strict.
    assert requests["describe_client_quotas"] == (2 if batched else 4)
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "user alice client checkout" in lines["producer_byte_rate"]
    assert "user alice client <default>" in lines["producer_byte_rate"].rpartition("checkout")[2]
    assert "client <default>" in lines["controller_mutation_rate"]


@examples(30, at_length=100)
@given(
    known=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([1.0, 2.0]), min_size=1),
    now=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([1.0, 2.0])),
    names=st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
)
def test_what_was_read_of_some_users_is_as_it_is_and_the_others_stay(
    known: dict[str, float], now: dict[str, float], names: Sequence[str]
) -> None:
    def of(values: dict[str, float]) -> dict[QuotaEntity, QuotaValues]:
        return {QuotaEntity.of({"user": name}): {"producer_byte_rate": value} for name, value in values.items()}

    before = Snapshot(quotas=of(known), acls=tuple(_acl(name) for name in sorted(known)))
    filters = [filter_for_name("user", name) for name in names]
    found = {name: value for name, value in now.items() if name in names}
    after = with_quotas_of(before, filters, of(found))
    expected = {name: value for name, value in known.items() if name not in names} | found
    assert after.quotas == of(expected)
    assert (after.quotas is before.quotas) == (expected == known)
    principals = [f"User:{name}" for name in names]
    merged = with_acls_of(before, principals, [_acl(name) for name in found])
    assert {acl.principal for acl in merged.acls} == {f"User:{name}" for name in expected}


def _acl(name: str) -> Acl:
    topic, literal = AclResourceType.parse("TOPIC"), PatternType.parse("LITERAL")
    return Acl(topic, "t", literal, f"User:{name}", "*", AclOperation.parse("READ"), Permission.parse("ALLOW"))
