"""``feature``: changes the levels of features of the cluster."""

from __future__ import annotations

from console.language.arguments import whole_number
from console.language.quoting import quote_beside_equals
from console.language.reader import Candidate, Expected, Form, Reader, What
from console.language.snapshot_parts import EVERY_BROKER, NOTHING, Needs, whole_parts
from console.language.statements import EditStatement, Subject, joined
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.feature_levels import ELR_VERSION, brings, level_name
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import SetFeature


class FeatureSet(EditStatement, frozen=True):
    """The statement ``feature set``."""

    levels: tuple[tuple[str, int], ...]
    """Pairs of a feature's name and its level; each feature occurs once."""


def _parse(reader: Reader) -> FeatureSet:
    reader.need_keyword("set")
    expected = Expected(What.PAIR, "FEATURE=LEVEL", offers=_features, values=_levels, reads=whole_parts(Part.FEATURES))
    levels: dict[str, int] = {}
    while not reader.ended or not levels:
        word, name, value = reader.take_pair(expected, "FEATURE=LEVEL")
        level = whole_number(value.text, 0, 2**15 - 1)
        if level is None:
            reader.fail("a level is a whole number; 0 turns the feature off", value if value.text else word)
        if name.text in levels:
            reader.fail(f"{name.text}= is given twice", word)
        levels[name.text] = level
    reader.expect(expected)
    return FeatureSet(tuple(levels.items()))


def _text(statement: FeatureSet) -> str:
    return joined("feature set", *(f"{quote_beside_equals(name)}={level}" for name, level in statement.levels))


def _needs(statement: FeatureSet, _selected: Subject | None) -> Needs:
    in_sync = any(name == ELR_VERSION for name, _ in statement.levels)
    return whole_parts(Part.FEATURES) | (EVERY_BROKER if in_sync else NOTHING)


def _features(snapshot: Snapshot) -> list[Candidate]:
    from console.present.features import by_range, feature_rows

    rows = feature_rows(snapshot)
    return [Candidate(row.name, f"level {row.level}", by_range(row.supported), Form.KEY) for row in rows]


def _levels(snapshot: Snapshot, feature: str) -> list[Candidate]:
    """Return candidates for the levels of a feature that all nodes support, the highest first; empty if they are
    unknown.
    """
    from console.language.candidates import LIMIT
    from console.present.features import feature_rows

    row = next((row for row in feature_rows(snapshot) if row.name == feature), None)
    if row is None or row.common is None:
        return []
    low, high = row.common
    texts = dict(brings(feature, 0, high))
    levels = range(high, max(low, high - LIMIT) - 1, -1)
    return [Candidate(str(level), level_name(feature, level), texts.get(level, "")) for level in levels]


_FEATURE = StatementKind(
    statement=FeatureSet,
    text=_text,
    needs=_needs,
    edits=lambda statement, _staging: [SetFeature(name, level) for name, level in statement.levels],
    of_edits={SetFeature: lambda edit: FeatureSet(((edit.name, edit.level),))},
)

VERBS = (
    Verb(
        "feature",
        CHANGE,
        ("feature set FEATURE=LEVEL {FEATURE=LEVEL}",),
        "Stage other levels of features, such as metadata.version; 0 turns a feature off",
        "kac sends several levels as one change: the controller accepts all of them or none. kac refuses a level "
        "that a node does not support.\n\n"
        "You can lower most features again. You can lower `metadata.version` only if no level in between changed "
        "the format of the metadata log. You can't lower `kraft.version`. kac asks you to accept a level that "
        "can't be lowered. A script uses `--accept feature-irreversible=FEATURE`.",
        ("feature set metadata.version=30", "feature set transaction.version=2 group.version=1"),
        noun="feature features kafka-features",
        stands_for={"kac features describe": "feature list", "feature set metadata.version=LEVEL": "feature alter"},
        parse=_parse,
        statements=(_FEATURE,),
    ),
)
