"""Rules on the controller quorum, and on the levels of features."""

from __future__ import annotations

from collections.abc import Iterator

from console.lint.rule import QUORUM, SETTLED, Found, Seen, rule
from console.model.changes import FeatureTarget
from console.model.cluster import ClusterFeatures
from console.model.feature_levels import KRAFT_VERSION, METADATA_VERSION, feature_levels, level_name, missing_needs
from console.model.numbers import plural
from console.model.parts import Part
from console.model.quorum import majority
from console.model.releases import release_of
from console.model.severity import Certainty, Severity
from console.plan.edits import SetFeature

FEWEST_VOTERS = 3


def _voters(seen: Seen) -> int:
    """Return the number of voters; 0 if there is no quorum, or its leader is unknown."""
    quorum = seen.snapshot.quorum
    return len(quorum.voters) if quorum is not None else 0


@rule(
    name="voters-few",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="fewer than three voters for three brokers or more",
    why="If the quorum loses its leader, no topic can be created, and no partition gets another leader",
    needs=(Part.CLUSTER, Part.QUORUM),
    since="3.3",
    source="kraft_deployment",
)
def _few_voters(seen: Seen) -> Iterator[Found]:
    voters, brokers = _voters(seen), len(seen.brokers)
    if 0 < voters < FEWEST_VOTERS and brokers >= FEWEST_VOTERS:
        what = f"{plural(voters, 'voter')} for {brokers} brokers: with one away the quorum has no leader"
        yield Found(QUORUM, what, advice="add controllers until there are three voters")


@rule(
    name="voters-even",
    severity=Severity.INFO,
    certainty=Certainty.CERTAIN,
    title="an even number of voters",
    why="As many voters may fail as with one voter fewer, and each record waits for one voter more",
    needs=(Part.CLUSTER, Part.QUORUM),
    since="3.3",
    source="kraft_deployment",
)
def _even_voters(seen: Seen) -> Iterator[Found]:
    voters = _voters(seen)
    if voters >= FEWEST_VOTERS and voters % 2 == 0:
        spare = voters - majority(voters)
        what = f"{voters} voters may lose {spare}, as {voters - 1} may: one more adds only what can fail"
        yield Found(QUORUM, what, advice="add a controller, or remove one")


@rule(
    name="metadata-version-behind",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a metadata version of an older release than all nodes run",
    why="The functions of the new release are off, and the next release may refuse such an old level",
    needs=(Part.FEATURES,),
    since="3.3",
    source="upgrade",
    by_time=True,
    stands_after=SETTLED,
)
def _level_behind(seen: Seen) -> Iterator[Found]:
    features = seen.features
    if features is None or METADATA_VERSION not in features.finalized or _is_mixed(features):
        return
    now, most = features.finalized[METADATA_VERSION], _supported(features, METADATA_VERSION)
    ours, theirs = _release(now), _release(most)
    # A released Kafka supports the last metadata version of its release; lower versions of that release are from
    # unreleased builds.
    if ours and theirs and now < most and ours != theirs:
        who = "all nodes" if any(node.controller for node in features.nodes) else "all brokers"
        what = f"it is {_named(now)}, of {ours}, and {who} support {_named(most)}, of {theirs}"
        advice = "if the upgrade is done, and no node needs the older release again: raise it"
        yield Found(FeatureTarget(METADATA_VERSION), what, edits=(SetFeature(METADATA_VERSION, most),), advice=advice)


@rule(
    name="feature-behind",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a feature below the level of a new cluster",
    why="You raise the metadata version and each other feature separately: this one was left out",
    needs=(Part.FEATURES,),
    since="4.0",
    source="KIP-1022",
    by_time=True,
    stands_after=SETTLED,
)
def _feature_behind(seen: Seen) -> Iterator[Found]:
    features = seen.features
    if features is None or METADATA_VERSION not in features.finalized or _is_mixed(features):
        return
    base = features.finalized[METADATA_VERSION]
    known = feature_levels()
    order = {each.name: level for level, each in known.get(METADATA_VERSION, {}).items()}
    for name, levels in sorted(known.items()):
        if name in (METADATA_VERSION, KRAFT_VERSION):
            continue
        # The level that a cluster gets if it is formatted with this metadata version.
        usual = max((level for level, each in levels.items() if order.get(each.name, base + 1) <= base), default=0)
        now, most = features.finalized.get(name, 0), _supported(features, name)
        if now < usual <= most and not missing_needs(name, usual, features.finalized):
            what = f"it is at level {now}, and a new cluster of this {METADATA_VERSION} begins with {usual}"
            yield Found(FeatureTarget(name), what, edits=(SetFeature(name, usual),))


def _is_mixed(features: ClusterFeatures) -> bool:
    """Return whether nodes support different highest metadata versions, for example during an upgrade."""
    return len({node.supported.get(METADATA_VERSION) for node in features.nodes}) > 1


def _supported(features: ClusterFeatures, name: str) -> int:
    """Return the highest level of a feature that all nodes support; 0 if a node does not know the feature."""
    return min((node.supported.get(name, (0, 0))[1] for node in features.nodes), default=0)


def _release(level: int) -> str:
    return release_of({}, {METADATA_VERSION: (0, level)})


def _named(level: int) -> str:
    name = level_name(METADATA_VERSION, level)
    return f"{level} ({name})" if name else str(level)
