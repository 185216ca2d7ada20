"""The REST API of a Connect worker (org.apache.kafka.connect.runtime.rest.resources): a function for each path and
method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from console.embedded.connect import groups, offsets, validation
from console.embedded.connect import state as states
from console.embedded.connect.http_server import Asked, Reply, plain_error
from console.embedded.connect.state import Connector, ConnectState, Refused
from console.embedded.connect.workers import ROOT_LOGGER, Level, Workers

_PATCHES = (3, 8)
"""The first release whose workers can change single keys of a config (KIP-477)."""
_HEALTH = (3, 9)
"""The first release whose workers have a health check (KIP-1017)."""
_CHANGED_LOGGERS = (4, 0)
"""The first release in which the response to a change of a level names only the loggers whose level was changed."""
REBALANCE_EXPECTED = "Request cannot be completed because a rebalance is expected"
_STALE = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"
)
_NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF", "ALL")
_INITIAL = {"RUNNING": states.STARTED, "PAUSED": states.PAUSED, "STOPPED": states.STOPPED}


def answer(workers: Workers, number: int, asked: Asked) -> Reply:
    """Return a worker's response to a request. Raises Refused for an error response. number: the number of the
    worker.
    """
    for pattern, methods in _PATHS.items():
        if len(pattern) == len(asked.parts) and all(map(_fits, pattern, asked.parts)):
            function = methods.get(asked.method)
            if function is None or not _has(workers, pattern, asked.method):
                raise plain_error(405 if len(methods) > 1 or function is None else 404)
            names = [part for wanted, part in zip(pattern, asked.parts, strict=True) if wanted in _VARIABLES]
            return function(_Call(workers, number, asked), *names)
    raise plain_error(404)


_ANY, _NUMBER = "*", "#"
_VARIABLES = (_ANY, _NUMBER)


def _fits(wanted: str, part: str) -> bool:
    return wanted in (part, _ANY) or (wanted == _NUMBER and part.isascii() and part.isdigit())


def _has(workers: Workers, pattern: tuple[str, ...], method: str) -> bool:
    number = workers.herder.release.number
    if pattern == ("connectors", _ANY, "config") and method == "PATCH":
        return number >= _PATCHES
    return pattern != ("health",) or number >= _HEALTH


class _Call:
    """A request to a worker, with the methods that the functions for paths share."""

    def __init__(self, workers: Workers, number: int, asked: Asked) -> None:
        self.workers = workers
        self.number = number
        self.asked = asked
        self.herder = workers.herder
        self.release = workers.herder.release

    @property
    def state(self) -> ConnectState:
        """The state that all workers share."""
        return self.workers.state

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean parameter of the query; `default` if it is missing. Every value but ``true`` means False."""
        values = self.asked.query.get(name)
        return default if values is None else values[0].lower() == "true"

    def require_assignment(self) -> None:
        """Raise Refused if a rebalance is in progress: this read needs the workers' assignments, which are unknown
        during a rebalance.
        """
        if self.workers.rebalancing:
            # Workers answer with 409 only if they may forward the request.
            raise Refused(500, REBALANCE_EXPECTED)

    def require_owner(self) -> None:
        """Raise Refused if a rebalance is in progress: the request needs the worker that runs the connector or task,
        and during a rebalance there is none.
        """
        if self.workers.rebalancing:
            raise Refused(409, _STALE)

    def require_leader(self) -> None:
        """Raise Refused if a rebalance is in progress: all changes need a leader of the workers, and during a
        rebalance there is none.
        """
        if self.workers.rebalancing:
            raise Refused(409, _NO_LEADER)

    def require_validity(self, config: validation.Config) -> dict[str, str]:
        """Validate a config. Return it without the keys whose value is null. Raises Refused if it is invalid."""
        if text := validation.errors_of(validation.validated(self.release, config, self.workers.group)):
            raise Refused(400, text)
        return {key: value for key, value in config.items() if value is not None}

    def config(self) -> dict[str, str | None]:
        """Return the config in the body, with numbers and booleans as texts. Raises Refused for a body of another
        form.
        """
        return _texts(self.asked.body)

    def shown(self, connector: Connector) -> dict[str, Any]:
        """Return a connector in the form of ``/connectors/NAME``."""
        return {
            "name": connector.name,
            "config": dict(connector.config),
            "tasks": [{"connector": connector.name, "task": each.number} for each in connector.tasks],
            "type": self.herder.kind(connector),
        }

    def status(self, connector: Connector, restarting: frozenset[int] = frozenset(), own: str = "") -> dict[str, Any]:
        """Return the status of a connector in the form of ``/connectors/NAME/status``.

        Args:
            restarting: the numbers of the tasks to show as restarting.
            own: the state to show for the connector itself; ``""`` for its present state.
        """
        plugin = self.herder.plugin(connector)
        version = plugin and plugin.version

        def one(worker: int, state: str, trace: str | None = None) -> dict[str, Any]:
            told: dict[str, Any] = {"state": state, "worker_id": self.workers.address(worker)}
            if "version" in self.release.task_fields:
                told["version"] = None if state == states.UNASSIGNED else version
            return told | ({"trace": trace} if trace is not None else {})

        tasks = [
            {
                "id": each.number,
                **one(each.worker, states.RESTARTING if each.number in restarting else each.state, each.trace),
            }
            for each in connector.tasks
        ]
        return {
            "name": connector.name,
            "connector": one(connector.worker, own or connector.state),
            "tasks": tasks,
            "type": self.herder.kind(connector),
        }


def _texts(body: Any) -> dict[str, str | None]:
    if body is None:
        raise Refused(500, 'Cannot invoke "java.util.Map.get(Object)" because "connectorConfig" is null')
    if not isinstance(body, dict):
        raise Refused(500, "Cannot deserialize value of type `java.util.LinkedHashMap` from another value")
    return {key: _text(key, value) for key, value in body.items()}


def _text(key: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        kind = "Object" if isinstance(value, dict) else "Array"
        raise Refused(
            500, f'Cannot deserialize value of type `java.lang.String` from {kind} value (reference chain: "{key}")'
        )
    return None if value is None else str(value)


# -- connectors --------------------------------------------------------------------------------------------------------


def _list(call: _Call) -> Reply:
    expand = call.asked.query.get("expand")
    if expand is None:
        return Reply(200, list(call.state.connectors))
    made: dict[str, dict[str, Any]] = {}
    for name, connector in call.state.connectors.items():
        made[name] = {"status": call.status(connector)} if "status" in expand else {}
        if "info" in expand:
            made[name]["info"] = call.shown(connector)
    return Reply(200, made)


def _create(call: _Call) -> Reply:
    body = call.asked.body
    if not isinstance(body, dict) or not isinstance(body.get("name", ""), str | None):
        raise Refused(500, "Cannot deserialize value of type `CreateConnectorRequest`")
    if odd := next((key for key in body if key not in ("name", "config", "initial_state")), None):
        raise Refused(500, f'Unrecognized field "{odd}" (class CreateConnectorRequest), not marked as ignorable')
    initial = body.get("initial_state")
    if initial is not None and (not isinstance(initial, str) or initial.upper() not in _INITIAL):
        raise Refused(500, f"Cannot construct instance of `CreateConnectorRequest$InitialState`: {initial}")
    name = (body.get("name") or "").strip()
    config = _named(name, _texts(body.get("config")))
    valid = call.require_validity(config)
    call.require_leader()
    if name in call.state.connectors:
        raise Refused(409, f"Connector {name} already exists")
    target = _INITIAL[initial.upper()] if initial else None
    call.workers.change(call.herder.configured(call.state, name, valid, target))
    # Real workers answer before they know the tasks, so show none.
    shown = call.shown(call.state.connectors[name]) | {"tasks": []}
    return Reply(201, shown, f"/connectors/{quote(name, safe='')}")


def _named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    """Return a config with the connector's name added. Raises Refused if the config has another name."""
    own = config.get(validation.NAME)
    if own is not None and own != name:
        text = f"Connector name configuration ({own}) doesn't match connector name in the URL ({name})"
        raise Refused(400, text)
    return {**config, validation.NAME: name}


def _show(call: _Call, name: str) -> Reply:
    call.require_assignment()
    return Reply(200, call.shown(call.state.connector(name)))


def _delete(call: _Call, name: str) -> Reply:
    call.require_leader()
    call.workers.change(call.state.without(name))
    return Reply(204)


def _config(call: _Call, name: str) -> Reply:
    call.require_assignment()
    return Reply(200, dict(call.state.connector(name).config))


def _put_config(call: _Call, name: str) -> Reply:
    valid = call.require_validity(_named(name, call.config()))
    call.require_leader()
    former = call.state.connectors.get(name)
    call.workers.change(call.herder.configured(call.state, name, valid))
    tasks = call.shown(former)["tasks"] if former else []
    shown = call.shown(call.state.connectors[name]) | {"tasks": tasks}
    return Reply(200, shown) if former else Reply(201, shown, f"/connectors/{quote(name, safe='')}")


def _patch_config(call: _Call, name: str) -> Reply:
    call.require_leader()
    former = call.state.connector(name)
    if call.asked.body is None:
        text = 'Cannot invoke "java.util.Map.forEach(java.util.function.BiConsumer)" because "patch" is null'
        raise Refused(500, text)
    merged = {**former.config, **call.config()}
    valid = call.require_validity({key: value for key, value in merged.items() if value is not None})
    call.workers.change(call.herder.configured(call.state, name, valid))
    return Reply(200, call.shown(call.state.connectors[name]) | {"tasks": call.shown(former)["tasks"]})


def _status(call: _Call, name: str) -> Reply:
    return Reply(200, call.status(call.state.connector(name, "No status found for connector {}")))


def _targeted(target: str, status: int) -> Callable[[_Call, str], Reply]:
    def handle(call: _Call, name: str) -> Reply:
        if target == states.STOPPED:
            call.state.connector(name, "Unknown connector {}")
            call.require_leader()
        call.workers.change(call.herder.targeted(call.state, name, target))
        return Reply(status)

    return handle


def _restart(call: _Call, name: str) -> Reply:
    call.require_owner()
    connector = call.state.connector(name, "Unknown connector: {}")
    only_failed, with_tasks = call.flag("onlyFailed"), call.flag("includeTasks")
    if not only_failed and not with_tasks:
        return Reply(204)
    chosen = frozenset(
        each.number for each in connector.tasks if with_tasks and (not only_failed or each.state == states.FAILED)
    )
    own = connector.state if only_failed and connector.state != states.FAILED else states.RESTARTING
    reply = Reply(202, call.status(connector, chosen, own))
    call.workers.change(call.herder.restarted(call.state, name, chosen))
    return reply


# -- tasks, topics, offsets --------------------------------------------------------------------------------------------


def _tasks(call: _Call, name: str) -> Reply:
    call.require_assignment()
    connector = call.state.connector(name)
    config = call.herder.task_config(connector)
    return Reply(200, [{"id": {"connector": name, "task": each.number}, "config": config} for each in connector.tasks])


def _task_status(call: _Call, name: str, task: str) -> Reply:
    connector = call.state.connectors.get(name)
    tasks = call.status(connector)["tasks"] if connector else []
    found = next((each for each in tasks if each["id"] == int(task)), None)
    if found is None:
        raise Refused(404, f"No status found for task {name}-{task}")
    return Reply(200, found)


def _restart_task(call: _Call, name: str, task: str) -> Reply:
    call.require_owner()
    connector = call.state.connector(name, "Unknown connector: {}")
    if not any(each.number == int(task) for each in connector.tasks):
        raise Refused(404, f"Unknown task: {name}-{task}")
    call.workers.change(call.herder.restarted(call.state, name, frozenset({int(task)})))
    return Reply(204)


def _topics(call: _Call, name: str) -> Reply:
    connector = call.state.connectors.get(name)
    used = groups.used_topics(call.workers.cluster, connector, call.herder.kind(connector)) if connector else ()
    return Reply(200, {name: {"topics": list(used)}})


def _reset_topics(call: _Call, name: str) -> Reply:
    if (connector := call.state.connectors.get(name)) is not None:
        call.workers.change(call.state.with_connector(replace(connector, topics=())))
    return Reply(202)


def _offsets(call: _Call, name: str) -> Reply:
    connector = call.state.connector(name)
    found = offsets.shown_offsets(call.workers.cluster, connector, call.herder.kind(connector))
    return Reply(200, {"offsets": found})


def _patch_offsets(call: _Call, name: str) -> Reply:
    body = call.asked.body
    if not isinstance(body, dict) or set(body) - {"offsets"} or not _are_offsets(body.get("offsets")):
        raise Refused(500, "Cannot deserialize value of type `ConnectorOffsets`")
    asked = body.get("offsets")
    if not asked:
        raise Refused(400, "Partitions / offsets need to be provided for an alter offsets request")
    call.require_leader()
    connector = call.state.connector(name)
    offsets.require_stopped(connector)
    if call.herder.kind(connector) == "sink":
        offsets.alter_sink(call.workers.cluster, connector, asked)
    else:
        call.workers.change(call.state.with_connector(offsets.altered_source(connector, asked)))
    return Reply(200, {"message": "The offsets for this connector have been altered successfully"})


def _are_offsets(found: Any) -> bool:
    return found is None or (
        isinstance(found, list)
        and all(
            isinstance(each, dict)
            and not set(each) - {"partition", "offset"}
            and all(part is None or isinstance(part, dict) for part in each.values())
            for each in found
        )
    )


def _reset_offsets(call: _Call, name: str) -> Reply:
    call.require_leader()
    connector = call.state.connector(name)
    offsets.require_stopped(connector)
    if call.herder.kind(connector) == "sink":
        offsets.reset_sink(call.workers.cluster, connector)
    else:
        call.workers.change(call.state.with_connector(replace(connector, offsets=())))
    return Reply(200, {"message": "The offsets for this connector have been reset successfully"})


# -- plugins -----------------------------------------------------------------------------------------------------------


def _plugins(call: _Call) -> Reply:
    connectors_only = call.flag("connectorsOnly", default=True)
    shown = []
    for each in call.release.plugins:
        if each.is_connector or not connectors_only:
            version = {} if each.version is None else {"version": each.version}
            shown.append({"class": each.name, "type": each.kind, **version})
    return Reply(200, shown)


def _plugin_config(call: _Call, name: str) -> Reply:
    plugin = call.release.plugin(name)
    if plugin is None:
        raise Refused(404, f"Unknown plugin {name}.")
    keys = [*plugin.keys.values(), *call.release.common.get(plugin.kind, {}).values()]
    return Reply(200, [call.release.shown_key(each, plain=True) for each in keys])


def _validate(call: _Call, name: str) -> Reply:
    config = call.config()
    included = config.get(validation.CLASS_KEY)
    if included is not None and not _short(included).endswith(_short(name)):
        raise Refused(400, f"Included connector type {included} does not match request type {name}")
    try:
        return Reply(200, validation.validated(call.release, config, call.workers.group))
    except Refused as refused:
        # Kafka's worker validates in a thread, and wraps the error of that thread.
        kind = "errors.ConnectException" if refused.status == 500 else "runtime.rest.errors.BadRequestException"
        text = f"org.apache.kafka.connect.{kind}: {refused.text}"
        raise Refused(500, text) from None


def _short(name: str) -> str:
    return name.removesuffix("Connector") or name


# -- the worker itself -------------------------------------------------------------------------------------------------


def _root(call: _Call) -> Reply:
    release = call.release
    cluster_id = call.workers.cluster.state.cluster_id
    return Reply(200, {"version": release.version, "commit": release.commit, "kafka_cluster_id": cluster_id})


def _health(_: _Call) -> Reply:
    text = "Worker has completed startup and is ready to handle requests."
    return Reply(200, {"status": "healthy", "message": text})


def _loggers(call: _Call) -> Reply:
    levels = call.workers.loggers[call.number]
    return Reply(200, {name: levels[name].shown() for name in sorted(levels)})


def _logger(call: _Call, name: str) -> Reply:
    level = call.workers.loggers[call.number].get(name)
    if level is None:
        raise Refused(404, f"Logger {name} not found.")
    return Reply(200, level.shown())


def _set_level(call: _Call, name: str) -> Reply:
    wanted = call.config().get("level")
    if wanted is None:
        raise Refused(400, "Desired 'level' parameter was not specified in request.")
    if wanted.upper() not in _LEVELS:
        raise Refused(404, f"invalid log level '{wanted}'.")
    now = int(call.workers.cluster.clock.time() * 1000)
    if call.asked.query.get("scope", [""])[0].lower() == "cluster":
        for levels in call.workers.loggers.values():
            _set_levels(levels, name, wanted.upper(), now)
        return Reply(204)
    levels = call.workers.loggers[call.number]
    names, changed = _names_below(levels, name), _set_levels(levels, name, wanted.upper(), now)
    return Reply(200, names if call.release.number < _CHANGED_LOGGERS else changed)


def _names_below(levels: Mapping[str, Level], name: str) -> list[str]:
    """Return the names of a logger and of all loggers below it, sorted."""
    return sorted({name, *(each for each in levels if name == ROOT_LOGGER or each.startswith(f"{name}."))})


def _set_levels(levels: dict[str, Level], name: str, level: str, now: int) -> list[str]:
    """Set the level of a logger and of all loggers below it. Return the names of those that had another level before.
    now: the present time, milliseconds since 1970.
    """
    changed = []
    for each in _names_below(levels, name):
        if each not in levels or levels[each].level != level:
            levels[each] = Level(level, now)
            changed.append(each)
    return changed


_PATHS: Mapping[tuple[str, ...], Mapping[str, Callable[..., Reply]]] = {
    (): {"GET": _root},
    ("health",): {"GET": _health},
    ("connectors",): {"GET": _list, "POST": _create},
    ("connectors", _ANY): {"GET": _show, "DELETE": _delete},
    ("connectors", _ANY, "config"): {"GET": _config, "PUT": _put_config, "PATCH": _patch_config},
    ("connectors", _ANY, "status"): {"GET": _status},
    ("connectors", _ANY, "pause"): {"PUT": _targeted(states.PAUSED, 202)},
    ("connectors", _ANY, "resume"): {"PUT": _targeted(states.STARTED, 202)},
    ("connectors", _ANY, "stop"): {"PUT": _targeted(states.STOPPED, 204)},
    ("connectors", _ANY, "restart"): {"POST": _restart},
    ("connectors", _ANY, "tasks"): {"GET": _tasks},
    ("connectors", _ANY, "tasks", _NUMBER, "status"): {"GET": _task_status},
    ("connectors", _ANY, "tasks", _NUMBER, "restart"): {"POST": _restart_task},
    ("connectors", _ANY, "topics"): {"GET": _topics},
    ("connectors", _ANY, "topics", "reset"): {"PUT": _reset_topics},
    ("connectors", _ANY, "offsets"): {"GET": _offsets, "PATCH": _patch_offsets, "DELETE": _reset_offsets},
    ("connector-plugins",): {"GET": _plugins},
    ("connector-plugins", _ANY, "config"): {"GET": _plugin_config},
    ("connector-plugins", _ANY, "config", "validate"): {"PUT": _validate},
    ("admin", "loggers"): {"GET": _loggers},
    ("admin", "loggers", _ANY): {"GET": _logger, "PUT": _set_level},
}
"""Path, with _ANY for a name and _NUMBER for a number -> HTTP method -> the function that answers. The function is
called with the names and numbers in the path.
"""
