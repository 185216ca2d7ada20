"""A kind of edit that kac does not have, with a request of its own: what adds it to a copy of the tree, and a walk
through kac with it.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.walking import Said, kac, tell

KIND = "console/plan/kinds/shares.py"
VERB = "console/language/verbs/share.py"
MODULES = {
    KIND: '''"""Shares of brokers' time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from console.model.changes import AlterShares
from console.model.inheritance import Inheritance
from console.model.quota import USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.edit_kind import Batch, EditKind, Reversal
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, EffectiveValue
from console.plan.requests import Facts, Step
from console.plan.staged import Described, Draft, Dropped, Staged, Verdict, Was

KEY = "request_percentage"


class Share(Edit, frozen=True):
    """How much of each broker's time a user may take, in percent; 0 for as much as it wants."""

    user: str
    percent: float

    @property
    def target(self) -> QuotaEntity:
        """The user."""
        return QuotaEntity.of({USER: self.user})

    @property
    def key(self) -> str:
        """The quota."""
        return KEY


def _value(percent: float | None) -> EffectiveValue:
    return EffectiveValue(percent) if percent else NOTHING


def _steps(staged: Sequence[Staged], _facts: Facts) -> list[Step]:
    shares = {each.edit.target: each.edit.percent or None for each in staged if isinstance(each.edit, Share)}
    return [Step(AlterShares(shares), tuple(staged))] if staged else []


def _predict(snapshot: Snapshot, edits: Sequence[Share]) -> Snapshot:
    quotas = dict(snapshot.quotas)
    for edit in edits:
        quotas[edit.target] = {**quotas.get(edit.target, {}), KEY: edit.percent}
    return replace(snapshot, quotas=quotas)


SHARES = Batch(steps=_steps, predict=_predict)


class _ShareKind(EditKind):
    edit = Share
    verb = "share"
    state = float
    batch = SHARES

    def judge(self, edit: Share, draft: Draft) -> Verdict:
        was = self.current(edit, draft)
        return Dropped(edit, "that is its share already") if was == edit.percent else Staged(edit, was)

    def current(self, edit: Share, seen: Described) -> Was:
        return seen.found(seen.snapshot.quotas.get(edit.target, {}).get(KEY), "quotas")

    def wanted(self, edit: Share, now: float | None) -> bool:
        return (now or 0.0) == edit.percent

    def before(self, _edit: Share, there: float | None, _inheritance: Inheritance) -> EffectiveValue:
        return _value(there)

    def after(self, edit: Share, _there: float | None, _inheritance: Inheritance) -> EffectiveValue:
        return _value(edit.percent)

    def reversal(self, edit: Share, was: float | None, _recorded: Mapping[str, str]) -> Reversal:
        return Reversal((Share(edit.user, was or 0.0),), edit.percent or None)


KINDS = (_ShareKind(),)
''',
    VERB: '''"""``share``: how much of brokers' time a user may take."""

from __future__ import annotations

from console.language.arguments import named, need_number
from console.language.quoting import quote
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import EditStatement
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.kinds.shares import Share


class ShareTime(EditStatement, frozen=True):
    """``share user``: percent of a broker's time."""

    user: str
    percent: int


def _parse(reader: Reader) -> ShareTime:
    reader.need_keyword("user")
    user = named(reader, Expected(What.USER_NAME, "the NAME of a user"))
    return ShareTime(user, need_number(reader, Expected(What.ARGUMENT, "PERCENT"), 100))


_SHARE = StatementKind(
    statement=ShareTime,
    text=lambda share: f"share user {quote(share.user)} {share.percent}",
    needs=lambda _share, _selected: whole_parts("quotas"),
    edits=lambda share, _staging: [Share(share.user, float(share.percent))],
    of_edits={Share: lambda edit: ShareTime(edit.user, round(edit.percent))},
)

VERBS = (
    Verb(
        "share",
        CHANGE,
        ("share user NAME PERCENT",),
        "Stage how much of brokers' time a user may take",
        parse=_parse,
        statements=(_SHARE,),
    ),
)
''',
}
OF_KIND = (KIND, "console/plan/kinds/registry.py")
OF_REQUEST = ("console/model/changes.py", "console/admin/quotas.py")
OF_VERB = (VERB, "console/language/verbs/__init__.py")
INSERTED = (
    ("console/plan/kinds/registry.py", "    scram,\n", "    shares,\n", True),
    ("console/plan/kinds/registry.py", "    *scram.KINDS,\n", "    *shares.KINDS,\n", True),
    ("console/plan/kinds/registry.py", "    quotas.QUOTAS,\n", "    shares.SHARES,\n", True),
    (
        "console/model/changes.py",
        "TopicChange = ",
        '''class AlterShares(Request, frozen=True):
    """One AlterClientQuotas: user -> percent of a broker's time, None for no limit."""

    kafka_name: ClassVar[str] = "AlterClientQuotas"

    shares: Mapping[QuotaEntity, float | None]

    @property
    def content(self) -> str:
        """How many users."""
        return plural(len(self.shares), "share")


''',
        False,
    ),
    ("console/model/changes.py", "ClusterChange = AlterConfigs | AlterQuotas", " | AlterShares", True),
    (
        "console/admin/quotas.py",
        "SENDERS: Senders",
        """class _Shares(QuotaSender):
    def __init__(self, link: Link, request: AlterShares, validate_only: bool) -> None:
        ops = {user: {"request_percentage": percent} for user, percent in request.shares.items()}
        super().__init__(link, AlterQuotas(ops), validate_only)


""",
        False,
    ),
    ("console/admin/quotas.py", "AlterQuotas: QuotaSender", ", AlterShares: _Shares", True),
    ("console/admin/quotas.py", "from console.model.changes import AlterQuotas", ", AlterShares", True),
    ("console/language/verbs/__init__.py", "    show,\n", "    share,\n", False),
    ("console/language/verbs/__init__.py", "show, listing", "share, ", False),
)
"""Where what stands there once gets a line more: file, what is there, what is added, whether behind it."""


def add_to(tree: Path) -> None:
    """Add the kind, its request and its verb to a tree."""
    for path, module in MODULES.items():
        (tree / path).write_text(module)
    for path, there, added, behind in INSERTED:
        text = (tree / path).read_text()
        assert text.count(there) == 1, (path, there)
        (tree / path).write_text(text.replace(there, there + added if behind else added + there))


def walk() -> Said:
    """Go through kac with the kind, on an embedded cluster: by step the exit code, and what was said."""
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    said: dict[str, tuple[int, str]] = {}
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        at = ("-b", cluster.bootstrap)
        said["staged"] = kac("run", *at, "-e", "share user zoe 50; plan")
        said["applied"] = kac("run", *at, "-e", "share user zoe 50; apply --yes")
        said["described"] = kac("run", *at, "-e", "describe user zoe")
        said["not needed"] = kac("run", *at, "-e", "share user zoe 50")
        said["journalled"] = kac("history", *at, "--journal")
        said["taken back"] = kac("run", *at, "-e", "revert 1; apply --yes")
        said["gone"] = kac("run", *at, "--output", "json", "-e", "describe user zoe")
    return said


if __name__ == "__main__":
    tell(walk)
