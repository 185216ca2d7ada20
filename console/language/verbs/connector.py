"""``pause``, ``resume``, ``stop`` and ``restart``: change the state of connectors. This module also has those
statements of the verbs ``create``, ``delete`` and ``reset`` that are about connectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.language import arguments, statements
from console.language import reader as language_reader
from console.language.errors import CommandError
from console.language.panes import pane
from console.language.quoting import quote, quoted
from console.language.snapshot_parts import Needs, connectors_to_change, the_group
from console.language.staging import Staging, no_key_twice
from console.language.verb import CHANGE, StatementKind, Verb, one_edit
from console.model import connect
from console.model.config import ConfigEntry
from console.model.connector_bodies import offsets_of
from console.model.numbers import json_text
from console.model.secret import MaybeSecret, Secret
from console.model.snapshot import Snapshot
from console.plan import edits as plan_edits

CREATION = "create connector CLUSTER/NAME (@FILE | KEY=VALUE) {KEY=VALUE} [paused | stopped]"
RESET_USAGE = "reset connector CLUSTER/NAME offsets to (none | file F | JSON)"
_NAME = language_reader.Expected(language_reader.What.RESOURCE, "the CLUSTER/NAME of a connector", detail="connector")
_STATES = {"paused": connect.PAUSED, "stopped": connect.STOPPED}


class CreateConnector(statements.EditStatement, frozen=True):
    """The statement ``create connector``."""

    name: statements.Name
    path: str = ""
    """The path of a file with the config; ``""`` if the statement has the whole config."""
    configs: tuple[statements.Assign, ...] = ()
    state: str = ""
    """The initial state; ``""`` for running."""
    given: tuple[tuple[str, Secret], ...] | None = None
    """The config from the file, key -> value as pairs; None until it is read. The values are Secrets, because they may
    be passwords.
    """

    @property
    def reads_file(self) -> bool:
        """Whether the config is in a file."""
        return bool(self.path)


class ResetConnector(statements.EditStatement, frozen=True):
    """The statement ``reset connector … offsets``."""

    name: statements.Name
    path: str = ""
    """The path of a file with the offsets; ``""`` to delete all offsets."""
    offsets: tuple[connect.ConnectorOffset, ...] | None = None
    """The offsets from the file; None until it is read, and to delete all offsets."""

    @property
    def reads_file(self) -> bool:
        """Whether the offsets are in a file."""
        return bool(self.path)

    def _meaning(self) -> tuple[object, ...]:
        return (self.name, self.path, _json(self.offsets))


def name_of(reader: language_reader.Reader) -> statements.Name:
    """Read the name of a connector, as CLUSTER/NAME. Raises ParseError."""
    return _checked(reader, _NAME)


def _checked(reader: language_reader.Reader, expected: language_reader.Expected) -> statements.Name:
    word = reader.word
    name = arguments.plain_name(reader, expected, "connectors")
    if word is not None and not connect.is_connector_name(name.text or ""):
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return name


def _after_keyword(reader: language_reader.Reader) -> statements.Name:
    reader.need_keyword("connector")
    return name_of(reader)


# -- creating connectors -----------------------------------------------------------------------------------------------


def parse_creation(reader: language_reader.Reader) -> CreateConnector:
    """Read the words after ``create connector``. Raises ParseError."""
    clusters = language_reader.Expected(
        language_reader.What.ARGUMENT, "the CLUSTER/NAME of the connector", offers=_clusters
    )
    name = _checked(reader, clusters)
    path, configs, state = "", list[statements.Assign](), ""
    expected = language_reader.Expected(
        language_reader.What.PAIR, "@FILE, KEY=VALUE, paused or stopped", offers=_first_keys
    )
    while not reader.ended:
        word = reader.word
        assert word is not None
        if state:
            break
        if (found := reader.take_keyword(*_STATES)) is not None:
            state = _STATES[found]
        elif word.first_bare == "@" and not path and not configs:
            reader.take(expected, language_reader.Role.VALUE)
            source = arguments.secret_source(reader, word)
            assert isinstance(source, statements.FromFile)
            path = source.path
        else:
            configs.append(arguments.assigned(reader, *reader.take_pair(expected)))
    if not path and not configs:
        reader.expect(expected)
        reader.fail()
    return CreateConnector(name, path, tuple(configs), state)


def _clusters(snapshot: Snapshot) -> list[language_reader.Candidate]:
    return [language_reader.Candidate(f"{name}/", "", "a Connect cluster") for name in snapshot.connect]


def _first_keys(_snapshot: Snapshot) -> list[language_reader.Candidate]:
    return [language_reader.Candidate(key, "", text, language_reader.Form.KEY) for key, text in _FIRST_KEYS.items()]


_FIRST_KEYS = {
    connect.CLASS: "the class of its plugin",
    "tasks.max": "most tasks",
    connect.TOPICS: "the topics of a sink, with commas between them",
}


def _creation_text(statement: CreateConnector) -> str:
    words = map(statements.assign_text, statement.configs)
    state = next((word for word, state in _STATES.items() if state == statement.state), "")
    path = f"@{quote(statement.path)}" if statement.path else ""
    return statements.joined("create connector", statements.name_text(statement.name), path, *words, state)


def _config_of(statement: CreateConnector) -> dict[str, str]:
    """Return the config of a new connector, from the file and from the statement, without the secrets that still
    have to be read. `needs` finds the connector's class in it.
    """
    given = {key: value.reveal() for key, value in statement.given or ()}
    return given | {each.key.name: each.value for each in statement.configs if isinstance(each.value, str)}


def _creation_needs(statement: CreateConnector, _selected: statements.Subject | None) -> Needs:
    cluster, own = connect.split_name(statement.name.text or "")
    config = _config_of(statement)
    need = connectors_to_change()
    if class_name := config.get(connect.CLASS):
        need |= Needs(connector_classes=frozenset({(cluster, class_name)}))
    if connect.TOPICS in config or connect.PATTERN in config:
        group = config.get("consumer.override.group.id") or f"connect-{own}"
        need |= the_group(statements.Name(group))
    return need


def _created(statement: CreateConnector, staging: Staging) -> Iterator[plan_edits.Edit]:
    from console.plan import connector_rules as rules
    from console.plan.staged import Described

    if statement.path and statement.given is None:
        raise CommandError("the file was not read", "", statement.span)
    no_key_twice(each.key for each in statement.configs)
    name, seen = statement.name.text or "", Described(staging.snapshot)
    target = connect.connector_resource(*connect.split_name(name))
    class_name = _config_of(statement).get(connect.CLASS, "")

    def entry(key: str) -> ConfigEntry | None:
        return rules.defined_entry(seen, name, class_name, key)

    config: dict[str, MaybeSecret] = {}
    for key, value in statement.given or ():
        text = value.reveal()
        config[key] = value if rules.is_secret(key, text, entry(key)) else text
    for each in statement.configs:
        config[each.key.name] = staging.value(target, each, entry(each.key.name))
    yield plan_edits.CreateConnector(name, config, statement.state)


def _of_creation(edit: plan_edits.CreateConnector) -> CreateConnector:
    configs = (statements.assign_of(statements.Key(key), value, may_refer=True) for key, value in edit.config.items())
    return CreateConnector(statements.Name(edit.name), "", tuple(configs), edit.state)


CREATE = StatementKind(
    statement=CreateConnector,
    text=_creation_text,
    needs=_creation_needs,
    edits=_created,
    of_edits={plan_edits.CreateConnector: _of_creation},
    secrets=lambda statement: statements.secrets_among(statement.configs, f"connector {statement.name.text} "),
)

# -- deleting and controlling connectors -------------------------------------------------------------------------------


def _needs_connect(_edit: plan_edits.ConnectorEdit) -> Needs:
    return connectors_to_change()


DELETE = one_edit(plan_edits.DeleteConnector, lambda edit: f"delete connector {quote(edit.name)}", _needs_connect)

# -- restart -----------------------------------------------------------------------------------------------------------


def _parse_restart(reader: language_reader.Reader) -> statements.OneEdit:
    name = _after_keyword(reader).text or ""
    if reader.ended:
        reader.expect(
            language_reader.Expected(language_reader.What.WORDS, "failed, tasks or task", ("failed", "tasks", "task"))
        )
        return statements.OneEdit(plan_edits.RestartConnector(name))
    what = reader.need_keyword("failed", "tasks", "task")
    if what != "task":
        return statements.OneEdit(plan_edits.RestartConnector(name, only_failed=what == "failed", tasks=True))
    expected = language_reader.Expected(language_reader.What.ARGUMENT, "the number of a task")
    task = arguments.need_number(reader, expected, arguments.INT_MAX)
    return statements.OneEdit(plan_edits.RestartConnector(name, task=task))


def _restart_text(edit: plan_edits.RestartConnector) -> str:
    what = "failed" if edit.only_failed else "tasks" if edit.tasks else ""
    return statements.joined("restart connector", quote(edit.name), what if edit.task is None else f"task {edit.task}")


# -- offsets -----------------------------------------------------------------------------------------------------------


def parse_reset(reader: language_reader.Reader) -> ResetConnector:
    """Read the words after ``reset connector``. Raises ParseError."""
    name = name_of(reader)
    reader.need_keyword("offsets")
    reader.need_keyword("to")
    found = reader.take_keyword("none", "file", label="none, file F or JSON in quotes")
    if found == "none":
        return ResetConnector(name)
    if found == "file":
        return ResetConnector(
            name,
            arguments.named(
                reader,
                language_reader.Expected(language_reader.What.WORDS, "a FILE with offsets"),
                language_reader.Role.VALUE,
            ),
        )
    word = reader.take(
        language_reader.Expected(language_reader.What.WORDS, "JSON in quotes"), language_reader.Role.VALUE
    )
    try:
        return ResetConnector(name, offsets=offsets_of(word.text))
    except ValueError as error:
        reader.fail(f"no offsets: {error}", word, "the text in single quotes, as Connect returns it")


def _json(offsets: Iterable[connect.ConnectorOffset] | None) -> str:
    if offsets is None:
        return ""
    return json_text([{"partition": part, "offset": offset} for part, offset in offsets], sort_keys=True)


def _reset_text(statement: ResetConnector) -> str:
    where = statements.joined("reset connector", statements.name_text(statement.name), "offsets to")
    if statement.path:
        return f"{where} file {quote(statement.path)}"
    return f"{where} {quoted(_json(statement.offsets)) if statement.offsets is not None else 'none'}"


def _resets(statement: ResetConnector, staging: Staging) -> Iterator[plan_edits.Edit]:
    if statement.path and statement.offsets is None:
        raise CommandError("the file was not read", "", statement.span)
    name = statement.name.text or ""
    edit = plan_edits.ChangeConnectorOffsets(name, statement.offsets)
    found = connect.connector_in(staging.snapshot.connect, name)
    # Stop the connector first: workers refuse other offsets while it runs.
    if found is not None and found.state != connect.STOPPED:
        from console.plan.current_state import current_state, wanted
        from console.plan.staged import Described

        if not wanted(edit, current_state(edit, Described(staging.snapshot))):
            yield plan_edits.StopConnector(name)
    yield edit


RESET = StatementKind(
    statement=ResetConnector,
    text=_reset_text,
    needs=lambda statement, _: connectors_to_change() | Needs(connector_offsets=frozenset({statement.name.text or ""})),
    edits=_resets,
    of_edits={
        plan_edits.ChangeConnectorOffsets: lambda edit: ResetConnector(statements.Name(edit.name), offsets=edit.offsets)
    },
)


def _steering_verb(edit: type[plan_edits.Steering], verb: str, summary: str, about: str) -> Verb:
    return Verb(
        verb,
        CHANGE,
        (f"{verb} connector CLUSTER/NAME",),
        summary,
        about,
        (f"{verb} connector main/orders-sink",),
        parse=lambda reader: statements.OneEdit(edit(_after_keyword(reader).text or "")),
        statements=(one_edit(edit, lambda steering: f"{verb} connector {quote(steering.name)}", _needs_connect),),
    )


VERBS = (
    _steering_verb(
        plan_edits.PauseConnector,
        "pause",
        "Stage a pause of a connector: its tasks stay and do nothing",
        "A paused connector reads no data. The data waits as long as its source retains it. `resume` lets the "
        "connector run again.",
    ),
    _steering_verb(
        plan_edits.StopConnector,
        "stop",
        "Stage the end of a connector's tasks; its config and its offsets stay",
        "Connect changes the offsets of a connector only while the connector is stopped. Workers before Kafka 3.5 "
        "can't stop a connector.",
    ),
    _steering_verb(
        plan_edits.ResumeConnector,
        "resume",
        "Stage that a paused or stopped connector runs again",
        "A failed connector needs `restart`.",
    ),
    Verb(
        "restart",
        CHANGE,
        ("restart connector CLUSTER/NAME [failed | tasks | task N]",),
        "Stage the restart of a connector, of its failed instances, or of one task",
        "Without a keyword kac restarts the connector without its tasks. With `tasks` kac restarts the connector "
        "and its tasks. With `failed` kac restarts only the instances that have failed: the connector, tasks, or "
        "both.",
        ("restart connector main/orders-sink failed", "restart connector main/orders-sink task 2"),
        parse=_parse_restart,
        statements=(one_edit(plan_edits.RestartConnector, _restart_text, _needs_connect),),
    ),
    pane(
        "connectors",
        "The connectors of Kafka Connect",
        "connectors orders",
        about="The context names the Connect clusters in `[contexts.NAME.connect.CLUSTER]`, each with its `url`.",
        where=statements.INTERACTIVE,
    ),
    pane(
        "mirrors",
        "The flows of MirrorMaker 2 to this cluster",
        "mirrors",
        about="kac reads the flows from MirrorMaker's own topics on this cluster.",
    ),
)
