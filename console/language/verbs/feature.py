"""``feature``: other levels of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from console.language.arguments import whole_number
from console.language.node_text import joined
from console.language.quoting import quote_beside_equals
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import EVERY_BROKER, NOTHING, Needs, whole_parts
from console.language.statements import EditStatement, Subject
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.feature_levels import ELR_VERSION

if TYPE_CHECKING:
    from console.language.staging import Staging
    from console.plan.edits import Edit


class FeatureSet(EditStatement, frozen=True):
    """``feature set``. levels: feature and level, each once."""

    levels: tuple[tuple[str, int], ...]


def _parse(reader: Reader) -> FeatureSet:
    reader.need_keyword("set")
    expected = Expected(What.FEATURE_ASSIGN, "FEATURE=LEVEL")
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
    return whole_parts("features") | (EVERY_BROKER if in_sync else NOTHING)


def _edits(statement: FeatureSet, _staging: Staging) -> Iterator[Edit]:
    from console.plan.kinds.features import SetFeature

    for name, level in statement.levels:
        yield SetFeature(name, level)


def _of_edits() -> Mapping[type[Edit], Callable[[Any], FeatureSet]]:
    from console.plan.kinds.features import SetFeature

    return {SetFeature: lambda edit: FeatureSet(((edit.name, edit.level),))}


_FEATURE = StatementKind(statement=FeatureSet, text=_text, needs=_needs, edits=_edits, of_edits=_of_edits)

VERBS = (
    Verb(
        name="feature",
        group=CHANGE,
        usage=("feature set FEATURE=LEVEL {FEATURE=LEVEL}",),
        summary="Stage other levels of features, as metadata.version; 0 turns one off",
        about=(
            "Several levels are sent as one change, all of them or none. A level that a node does not support is "
            "refused. Most features can be lowered again; metadata.version only over levels that left the metadata "
            "log as it was, kraft.version never: that has to be accepted, in a script by --accept "
            "feature-irreversible=FEATURE."
        ),
        examples=("feature set metadata.version=30", "feature set transaction.version=2 group.version=1"),
        parse=_parse,
        statements=(_FEATURE,),
    ),
)
