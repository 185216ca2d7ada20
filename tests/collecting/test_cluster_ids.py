"""Tests of a lake with clusters whose ids are unusual: a path, the id of another cluster, 30 KB of text."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.settings import ConnectionSettings
from console.collecting import collect as collecting_collect
from console.contexts import Context
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.lake.entities import LONGEST, folder_of, id_problem
from console.lake.files import LakeError
from console.lake.inputs import Inputs, MetadataLog, UnreadableInput, folders_of
from console.lake.kraft import LOG_FOLDER, NoMetadataLogError
from console.lake.lake import Lake
from console.lake.plans import MetadataLogs, Settings
from tests.support import worlds

HONEST = "5L6g3nShT-eMCtK--X86sw"
AS_PATHS = [
    "..",
    ".",
    "../..",
    "../data",
    "/",
    "a/../..",
    "%2e%2e",
    "~",
    "..\\..",
    "lake.json",
    "collect",
    "owners",
    "lock",
]


honest = worlds.cluster(ClusterSpec(brokers=1, scenario="quiet", cluster_id=HONEST), scope="module")


def context(cluster: ThreadedCluster, name: str, declared: str | None = None) -> Context:
    return Context(name, "a test", ConnectionSettings(parse_bootstrap(cluster.bootstrap)), cluster_id=declared)


def files(folder: str) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in Path(folder).rglob("*") if each.is_file()}


def names_of_failures(report: collecting_collect.Report) -> dict[str, str | None]:
    return {each.context: each.failure.name if each.failure else None for each in report.clusters}


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_folder_is_one_name_and_of_one_cluster_alone(one: str, other: str) -> None:
    name = folder_of(one)
    assert "/" not in name
    assert "\\" not in name
    assert name not in ("", ".", "..")
    assert len(name.encode()) <= 64
    assert (name == folder_of(other)) == (one == other)


@given(st.text(min_size=1, max_size=LONGEST * 2))
def test_an_id_that_is_taken_fits_into_the_name_of_a_partition(cluster_id: str) -> None:
    if not id_problem(cluster_id):
        # Delta escapes at most the characters that URLs escape; the escape of an ASCII character takes three bytes.
        assert len(b"in_cluster_id=" + _escaped(cluster_id)) <= 255


def _escaped(name: str) -> bytes:
    return "".join(quote(each, safe="") if each.isascii() and not each.isalnum() else each for each in name).encode()


def test_ids_of_kafka_are_folders_as_they_are() -> None:
    for usual in (HONEST, "-_AAAAAAAAAAAAAAAAAAAA", "lkc-1", "demo-eu"):
        assert not id_problem(usual)
        assert folder_of(usual) == usual


@pytest.mark.parametrize("relative", ["..", "../other", "data/../../x", ".", "", "/etc", "collect//x"])
def test_no_path_leads_out_of_a_lake(lake: Lake, relative: str) -> None:
    with pytest.raises(LakeError, match="no path within the lake"):
        lake.path(relative)


@pytest.mark.parametrize("cluster_id", AS_PATHS)
def test_an_id_that_is_a_path_touches_nothing_but_its_own_folder(
    lake: Lake, honest: ThreadedCluster, cluster_id: str
) -> None:
    assert collecting_collect.collect(lake, [context(honest, "prod")]).complete
    before = {
        path: data
        for path, data in files(lake.where).items()
        if ("/collect/" in path and Path(path).name not in ("lock", "owners.json"))
        or Path(path).name in ("lake.json", "hmac.key")
    }
    state = collecting_collect.LastStates(lake).of(HONEST)
    with run_in_thread(ClusterSpec(brokers=1, cluster_id=cluster_id)) as other:
        for number in range(3):
            other.call(partial(one_more_topic, number))
            assert collecting_collect.collect(lake, [context(other, "odd")]).complete
    after = files(lake.where)
    assert {path: after.get(path) for path in before} == before
    assert collecting_collect.LastStates(lake).of(HONEST) == state
    assert {key for _, key in collecting_collect.LastStates(lake).of(cluster_id)} >= {"t0", "t1", "t2"}
    own = [path for path in after if path.endswith(".json.gz") and "/collect/" in path and path not in before]
    assert len(own) == 1, "of each cluster one state is kept"
    assert Path(own[0]).parent == Path(lake.where) / "collect"
    again = collecting_collect.collect(lake, [context(honest, "prod")])
    assert (again.clusters[0].changed, again.clusters[0].gone) == (0, 0)


def one_more_topic(number: int, cluster: EmbeddedCluster) -> None:
    add_topic(cluster.state, f"t{number}", 1)


@pytest.mark.parametrize(
    ("cluster_id", "said"),
    [
        ("x" * 30_000, "has 30000 characters"),
        ("a\n\x1b[2Jb", "unprintable characters"),
        ("a\0b", "unprintable characters"),
        (" ", "is empty"),
        ("\u4e2d" * 100, "too long for the name of a file"),
        ("__HIVE_DEFAULT_PARTITION__", "reserved"),
    ],
    ids=["long", "control", "nul", "blank", "wide", "reserved"],
)
def test_an_id_that_no_file_can_have_is_refused_and_holds_up_nobody(
    lake: Lake, honest: ThreadedCluster, cluster_id: str, said: str
) -> None:
    with run_in_thread(ClusterSpec(brokers=1, cluster_id=cluster_id)) as other:
        report = collecting_collect.collect(lake, [context(other, "odd"), context(honest, "prod")])
    assert names_of_failures(report) == {"odd": "NO_CLUSTER_ID", "prod": None}
    failure = str(report.clusters[0].failure)
    assert said in failure
    assert failure.isprintable()
    assert len(failure) < 400
    assert collecting_collect.LastStates(lake).of(HONEST)


def test_a_cluster_that_claims_anothers_id_is_refused(lake: Lake, honest: ThreadedCluster) -> None:
    first = collecting_collect.collect(lake, [context(honest, "prod")])
    state = collecting_collect.LastStates(lake).of(HONEST)
    with run_in_thread(ClusterSpec(brokers=1, cluster_id=HONEST)) as other:
        for contexts in (
            [context(other, "other")],
            [context(other, "other"), context(honest, "prod")],
            [context(other, "other", HONEST), context(honest, "prod")],
        ):
            report = collecting_collect.collect(lake, contexts, names={"prod", "other"})
            assert names_of_failures(report)["other"] == "CLUSTER_ID_TAKEN"
            failure = str(next(each.failure for each in report.clusters if each.context == "other"))
            assert "context other" in failure
            assert "context prod" in failure
            assert not report.complete
            assert sum(each.gone for each in report.clusters) == 0
            assert collecting_collect.LastStates(lake).of(HONEST) == state
    assert first.clusters[0].resources == len(state)


def test_of_two_new_clusters_with_one_id_none_is_believed(lake: Lake, honest: ThreadedCluster) -> None:
    with run_in_thread(ClusterSpec(brokers=1, cluster_id=HONEST)) as other:
        report = collecting_collect.collect(lake, [context(other, "other"), context(honest, "prod")])
        assert names_of_failures(report) == {"other": "CLUSTER_ID_TAKEN", "prod": "CLUSTER_ID_TAKEN"}
        assert collecting_collect.LastStates(lake).owners() == {}
        report = collecting_collect.collect(lake, [context(other, "other"), context(honest, "prod", HONEST)])
        assert names_of_failures(report) == {"other": "CLUSTER_ID_TAKEN", "prod": None}


def test_two_contexts_of_one_cluster_both_declare_it(lake: Lake) -> None:
    spec = ClusterSpec(brokers=2, cluster_id=HONEST)
    with ExitStack() as stack:
        cluster = stack.enter_context(run_in_thread(spec))
        addresses = [Context("", "", ConnectionSettings((each,))) for each in parse_bootstrap(cluster.bootstrap)]
        read_only, writing = (
            Context(name, "a test", each.settings, cluster_id=HONEST)
            for name, each in zip(("ro", "rw"), addresses, strict=True)
        )
        assert collecting_collect.collect(lake, [read_only, writing]).complete
        assert collecting_collect.collect(lake, [writing], names={"ro", "rw"}).complete
        assert collecting_collect.collect(lake, [read_only], names={"ro", "rw"}).complete


def test_a_context_that_was_renamed_takes_its_cluster_along(lake: Lake, honest: ThreadedCluster) -> None:
    collecting_collect.collect(lake, [context(honest, "prod")])
    refused = collecting_collect.collect(lake, [context(honest, "production")], names={"production"})
    (failure,) = (each.failure for each in refused.clusters)
    assert failure is not None
    assert f'set cluster_id = "{HONEST}"' in failure.remedy
    assert collecting_collect.collect(lake, [context(honest, "production", HONEST)], names={"production"}).complete
    assert collecting_collect.collect(lake, [context(honest, "production")], names={"production"}).complete


def metadata_log(folder: Path) -> str:
    log = folder / LOG_FOLDER
    log.mkdir(parents=True)
    (log / f"{0:020}.log").write_bytes(b"")
    (folder / "meta.properties").write_text(f"cluster.id={HONEST}\n")
    return str(log)


def test_two_metadata_logs_that_both_say_they_are_one_clusters_are_refused(tmp_path: Path) -> None:
    one, clone = metadata_log(tmp_path / "one"), metadata_log(tmp_path / "clone")
    with pytest.raises(UnreadableInput, match=f"{one} and {clone} both say"):
        folders_of([MetadataLog(one), MetadataLog(clone)])
    with pytest.raises(UnreadableInput, match="both say"):
        folders_of([MetadataLog(one, HONEST), MetadataLog(clone)])
    assert folders_of([MetadataLog(one, HONEST), MetadataLog(clone, HONEST)]) == {HONEST: [one, clone]}
    (tmp_path / "one" / "meta.properties").write_text(f"cluster.id={'x' * 300}\n")
    with pytest.raises(NoMetadataLogError, match="has 300 characters"):
        folders_of([MetadataLog(one)])


def test_a_metadata_log_from_another_place_has_to_be_named(lake: Lake, tmp_path: Path) -> None:
    clone = metadata_log(tmp_path / "clone")
    start = {HONEST: {"next": 7, "folders": ["/kafka/meta"], "bad": []}}

    def source(*logs: MetadataLog) -> MetadataLogs:
        return MetadataLogs(Settings(lake.where, Inputs(metadata_logs=logs), lake.path("hmac.key")))

    with pytest.raises(UnreadableInput, match="was read from /kafka/meta before"):
        source(MetadataLog(clone)).newest(start)
    assert source(MetadataLog(clone, HONEST)).newest(start)[HONEST]["next"] == 7


NAMES, IDS = st.sampled_from("abcd"), st.sampled_from(["x", "y"])


@given(
    st.lists(st.tuples(NAMES, IDS, st.booleans(), st.integers(1, 3)), max_size=6),
    st.dictionaries(IDS, st.tuples(NAMES, st.booleans())),
)
def test_at_most_one_undeclared_address_is_believed_for_each_id(
    drawn: list[tuple[str, str, bool, int]], owned: dict[str, tuple[str, bool]]
) -> None:
    claims = [
        collecting_collect.Claim(name, cluster, declares, frozenset({("h", port)}))
        for name, cluster, declares, port in {each[0]: each for each in drawn}.values()
    ]
    owners = {cluster: collecting_collect.Owner(*each) for cluster, each in owned.items()}
    refused = collecting_collect.refused_claims(owners, claims)
    for cluster in ("x", "y"):
        kept = [each for each in claims if each.cluster_id == cluster and each.context not in refused]
        if len({each.addresses for each in kept if not each.declares}) > 1:
            pytest.fail(f"two addresses that declare nothing: {kept}")
        owner = owners.get(cluster)
        if owner is not None and (owner.context, cluster) not in {each[:2] for each in claims}:
            assert all(each.declares and owner.declares for each in kept)
