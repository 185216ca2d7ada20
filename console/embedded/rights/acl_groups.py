"""ACLs as answers tell them: by what they are on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from console.embedded.server.long_answers import in_pieces
from console.embedded.state.acl_table import Pattern, pattern_of
from console.model.acl import Acl


async def by_pattern(acls: Iterable[Acl]) -> Mapping[Pattern, Sequence[Acl]]:
    """The ACLs of each pattern. Pauses for others."""
    groups: dict[Pattern, list[Acl]] = {}
    await in_pieces(acls, lambda acl: groups.setdefault(pattern_of(acl), []).append(acl))
    return groups
