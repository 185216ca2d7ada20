"""The nouns by name."""

from __future__ import annotations

from console.commands.nouns.acls import ACLS
from console.commands.nouns.brokers import BROKERS
from console.commands.nouns.groups import GROUPS
from console.commands.nouns.noun import Noun
from console.commands.nouns.quotas import QUOTAS
from console.commands.nouns.scram import SCRAM
from console.commands.nouns.topics import TOPICS

NOUNS = {each.name: each for each in (TOPICS, QUOTAS, ACLS, BROKERS, GROUPS, SCRAM)}
NAMES = tuple(NOUNS)


def noun(name: str) -> Noun:
    """The noun of this name."""
    return NOUNS[name]
