"""Contexts from the configuration files of other tools: birdayz/kaf, deviceinsight/kafkactl, twmb/kcl and rpk."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from console.admin import settings as admin_settings
from console.contexts import tool_file
from console.contexts.client_files import read_file
from console.contexts.context import ContextError, Found, Surroundings
from console.contexts.java_client import TOKEN_COMMAND, command_options
from console.model.secret import Secret
from console.safe_files import require_own

# birdayz/kaf: ``~/.kaf/config`` with ``clusters[]``, each with ``brokers``, ``SASL``, ``TLS``, ``security-protocol``.

KAF = "kaf"
_MSK = "AWS_MSK_IAM"


def read_kaf(surroundings: Surroundings) -> Found:
    """Return the clusters in kaf's ``~/.kaf/config`` as contexts; empty if the file is missing. An unusable cluster
    becomes a `BrokenContext`.

    Raises:
        ContextError: the file can't be read, or is not YAML.
    """
    path = surroundings.home / ".kaf" / "config"
    return _listed(KAF, path, "clusters", "current-cluster", _kaf_settings, surroundings)


def _kaf_settings(part: tool_file.Part) -> admin_settings.ConnectionSettings:
    named = part.text("security-protocol").upper()
    tls_part, sasl_part = part.part("TLS"), part.part("SASL")
    tls: admin_settings.TlsSettings | None = None
    if tls_part is not None:
        tls = tls_part.tls(ca="cafile", cert="clientfile", key="clientkeyfile", insecure="insecure")
    elif named.endswith("SSL"):
        tls = admin_settings.TlsSettings()
    if named.startswith("SASL_") and sasl_part is None:
        raise part.error(f"security-protocol is {named}, but SASL is missing")
    sasl = None if sasl_part is None else _kaf_sasl(sasl_part, has_protocol=named.startswith("SASL_"))
    return part.connection("brokers", tls, sasl)


def _kaf_sasl(part: tool_file.Part, *, has_protocol: bool) -> admin_settings.SaslSettings:
    """Return the SASL settings as kaf interprets them: if no security-protocol with SASL is given, every mechanism
    except that of MSK counts as PLAIN.
    """
    mechanism = part.text("mechanism").upper() if has_protocol or part.text("mechanism").upper() == _MSK else ""
    if mechanism != "OAUTHBEARER":
        return part.sasl(mechanism or "PLAIN", user="username", password="password")  # noqa: S106
    if token := part.secret("token"):
        return admin_settings.SaslSettings("OAUTHBEARER", password=token)
    client_id, url = part.text("clientID"), part.text("tokenURL")
    client_secret = part.secret("clientSecret")
    if not client_id or client_secret is None or not url:
        raise part.error("OAUTHBEARER needs clientID, clientSecret and tokenURL, or a token")
    options = {"token.endpoint.url": url}
    if scopes := " ".join(part.texts("scopes")):
        options["scope"] = scopes
    return admin_settings.SaslSettings("OAUTHBEARER", client_id, client_secret, options=options)


# deviceinsight/kafkactl: ``config.yml`` with ``contexts.<name>.{brokers,tls,sasl}``.
#
# kafkactl's project files in working folders are not read: the author of a folder must not choose the cluster.

KAFKACTL = "kafkactl"
CONFIG = "KAFKA_CTL_CONFIG"
WRITABLE = "KAFKA_CTL_WRITABLE_CONFIG"


def read_kafkactl(surroundings: Surroundings) -> Found:
    """Return the contexts in the first of kafkactl's files that exists; empty if none exists.

    Raises:
        ContextError: the file can't be read, is not YAML, or its `contexts` are not a table.
    """
    path = _kafkactl_config(surroundings)
    if path is None:
        return Found()
    table = {str(key).lower(): value for key, value in tool_file.parse_yaml(path).items()}
    named = table.get("contexts") or {}
    if not isinstance(named, dict):
        raise ContextError(f"{path}: contexts is not a table")
    contexts = [(name, f"contexts.{name}", value) for name, value in named.items()]
    return tool_file.gather(
        KAFKACTL, path, contexts, _kafkactl_settings, _kafkactl_current(surroundings, path, table), surroundings
    )


def _kafkactl_config(surroundings: Surroundings) -> Path | None:
    named = surroundings.environ.get(CONFIG)
    if named:
        return surroundings.path(named, (surroundings.cwd,))
    names = ("config.yml", "config.yaml")
    return next(
        (path for folder in _kafkactl_folders(surroundings) for name in names if (path := folder / name).is_file()),
        None,
    )


def _kafkactl_folders(surroundings: Surroundings) -> tuple[Path, ...]:
    home = surroundings.home
    return home / ".config" / "kafkactl", home / ".kafkactl", Path("/etc/kafkactl")


def _kafkactl_current(surroundings: Surroundings, config: Path, table: tool_file.Table) -> str:
    """Return the name of kafkactl's current context: from the environment, from the file ``current-context.yml`` or, as
    old versions of kafkactl wrote it, from the config file; empty if none names one.
    """
    if named := surroundings.environ.get("CURRENT_CONTEXT"):
        return named
    candidates = [folder / "current-context.yml" for folder in _kafkactl_folders(surroundings)]
    if CONFIG in surroundings.environ:
        candidates = [config.parent / "current-context.yml"]
    if WRITABLE in surroundings.environ:
        candidates = [surroundings.path(surroundings.environ[WRITABLE], (surroundings.cwd,))]
    for path in candidates:
        if path.is_file():
            return str(tool_file.parse_yaml(path).get("current-context") or "")
    return str(table.get("current-context") or "")


def _kafkactl_settings(part: tool_file.Part) -> admin_settings.ConnectionSettings:
    kubernetes = part.part("kubernetes")
    via = None
    if kubernetes is not None and kubernetes.flag("enabled"):
        # kafkactl then runs in a pod of that namespace, so the names of its brokers are names of pods and services.
        via = admin_settings.KubeNamespace(
            kubernetes.text("namespace") or "default", kubernetes.text("kubeContext") or None
        )
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls = sasl = None
    if tls_part is not None and tls_part.flag("enabled"):
        tls = tls_part.tls(ca="ca", cert="cert", key="certKey", insecure="insecure", password="certKeyPassphrase")  # noqa: S106
    if sasl_part is not None and sasl_part.flag("enabled"):
        mechanism = sasl_part.text("mechanism") or "plaintext"
        provider = sasl_part.part("tokenprovider") if mechanism.lower() == "oauth" else None
        tokens = None if provider is None else _TOKEN_PLUGINS.get(provider.text("plugin"))
        if provider is not None and tokens is not None:
            sasl = tokens(provider.part_or_empty("options"), part)
        else:
            sasl = sasl_part.sasl(mechanism, user="username", password="password")  # noqa: S106
    return replace(
        part.connection("brokers", tls, sasl),
        client_id=part.text("clientID") or admin_settings.CLIENT_ID,
        request_timeout=part.seconds("requestTimeout", admin_settings.REQUEST_TIMEOUT),
        via=via,
    )


def _script_tokens(options: tool_file.Part, part: tool_file.Part) -> admin_settings.SaslSettings:
    """Return the settings for tokens that a script prints; kac runs the script only when the context is used. Raises
    ContextError: the script is missing, or another user can change the file that names it.
    """
    script = options.text("script")
    if not script:
        raise options.error("script is missing, which writes the token")
    try:
        require_own(part.file)
    except OSError as error:
        raise part.error(f"its script is not run: {error.strerror}") from None
    path = str(part.surroundings.path(script, (part.file.parent,))) if "/" in script else script
    command = shlex.join((path, *options.texts("args")))
    return admin_settings.SaslSettings("OAUTHBEARER", options=command_options(command, part.file))


def _aws_tokens(options: tool_file.Part, _part: tool_file.Part) -> admin_settings.SaslSettings:
    """Return the settings for tokens that are signed with AWS credentials. The region is taken from the names of the
    brokers.
    """
    settings = {"aws": "iam"}
    if role := options.text("role"):
        given = {"aws.role.arn": role, "aws.role.session": options.text("stsSessionName")}
        given["aws.role.region"] = options.text("region")
        settings |= {key: text for key, text in given.items() if text}
    elif profile := options.text("profile"):
        settings["aws.profile"] = profile
    return admin_settings.SaslSettings("OAUTHBEARER", options=settings)


def _azure_tokens(options: tool_file.Part, part: tool_file.Part) -> admin_settings.SaslSettings:
    """Raise ContextError: kac lacks the library with which kafkactl's plug-in gets tokens of Azure. The message has a
    command line that fetches such a token.
    """
    (host, _), *_more = part.addresses("brokers", "SASL_SSL")
    tenant = (
        f" --tenant {shlex.quote(tenant)}" if (tenant := options.text("tenant-id") or options.text("tenantid")) else ""
    )
    command = (
        f"az account get-access-token --resource {shlex.quote(f'https://{host}')}{tenant} --query accessToken -o tsv"
    )
    raise options.error(
        f'its tokens are of a library; a context of kac\'s own file can: sasl.mechanism = "OAUTHBEARER" with '
        f'{TOKEN_COMMAND} = "{command}"'
    )


_TOKEN_PLUGINS: Mapping[str, Callable[[tool_file.Part, tool_file.Part], admin_settings.SaslSettings]] = {
    "generic": _script_tokens,
    "aws": _aws_tokens,
    "azure": _azure_tokens,
}
"""Name of a token plug-in of kafkactl -> the function that returns the settings for it."""


# twmb/kcl: ``config.toml`` with ``[profiles.<name>]``, or one unnamed profile at the top; variables ``KCL_*`` override
# it.

KCL = "kcl"
DEFAULT_SEEDS = "localhost:9092"
UNNAMED = "kcl"
"""The name of the context for kcl's unnamed profile."""

_OVERRIDES = {
    "KCL_SEED_BROKERS": ("seed_brokers",),
    "KCL_DIAL_TIMEOUT": ("dial_timeout",),
    "KCL_TLS_CA_CERT_PATH": ("tls", "ca_cert_path"),
    "KCL_TLS_CLIENT_CERT_PATH": ("tls", "client_cert_path"),
    "KCL_TLS_CLIENT_KEY_PATH": ("tls", "client_key_path"),
    "KCL_TLS_SERVER_NAME": ("tls", "server_name"),
    "KCL_SASL_METHOD": ("sasl", "method"),
    "KCL_SASL_USER": ("sasl", "user"),
    "KCL_SASL_PASS": ("sasl", "pass"),
}
_SWITCHES = {
    "KCL_USE_TLS": ("tls", "used"),
    "KCL_TLS_INSECURE": ("tls", "insecure"),
    "KCL_SASL_IS_TOKEN": ("sasl", "is_token"),
}
"""Environment variable that takes effect if it exists, whatever its value -> the section and the key that it sets."""


def read_kcl(surroundings: Surroundings) -> Found:
    """Return kcl's profiles as contexts; empty if there is no file. Environment variables override the current profile,
    as in kcl.

    Raises:
        ContextError: the file can't be read, is not TOML, or its `profiles` are not a table.
    """
    path = _kcl_config(surroundings)
    environ = surroundings.environ
    has_file = path.is_file() and not environ.get("KCL_NO_CONFIG_FILE")
    if not has_file and "KCL_SEED_BROKERS" not in environ:
        return Found()
    table = _kcl_profile(path) if has_file else {}
    profiles = table.get("profiles") or {}
    if not isinstance(profiles, dict):
        raise ContextError(f"{path}: profiles is not a table")
    current = str(table.get("current_profile") or "") if profiles else UNNAMED
    named = dict(profiles or {UNNAMED: table})
    if isinstance(named.get(current), dict):
        named[current] = _kcl_overridden(named[current], environ)
    values = [(name, f"profiles.{name}" if profiles else "profile", value) for name, value in named.items()]
    return tool_file.gather(
        KCL, path, values, _kcl_settings, current, surroundings, None if has_file else "environment"
    )


def _kcl_config(surroundings: Surroundings) -> Path:
    environ = surroundings.environ
    if named := environ.get("KCL_CONFIG_PATH"):
        return surroundings.path(named, (surroundings.cwd,))
    given = environ.get("KCL_CONFIG_DIR")
    folder = Path(given) if given else _config_folder(surroundings) / "kcl"
    return folder / (environ.get("KCL_CONFIG_FILE") or "config.toml")


def _kcl_profile(path: Path) -> tool_file.Table:
    import tomllib

    try:
        return tomllib.loads(read_file(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise ContextError(f"{path}: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ContextError(f"{path}: not TOML: {error}") from None


def _kcl_overridden(profile: tool_file.Table, environ: Mapping[str, str]) -> tool_file.Table:
    """Return the profile with the values of kcl's environment variables in place of its own."""
    result: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in profile.items()}
    texts = {name: keys for name, keys in _OVERRIDES.items() if name in environ}
    switches = {name: keys for name, keys in _SWITCHES.items() if name in environ}
    for name, keys in (texts | switches).items():
        value: Any = environ[name] if name in texts else True
        if len(keys) == 1:
            result[keys[0]] = value
        else:
            inner = result.get(keys[0])
            result[keys[0]] = {**(inner if isinstance(inner, dict) else {}), keys[1]: value}
    return result


def _kcl_settings(part: tool_file.Part) -> admin_settings.ConnectionSettings:
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls = sasl = None
    if tls_part is not None:
        tls = tls_part.tls(ca="ca_cert_path", cert="client_cert_path", key="client_key_path", insecure="insecure")
        if tls_part.text("server_name"):
            tls_part.warn("server_name is not applied: certificates have to name the host that is connected to")
    if sasl_part is not None and sasl_part.text("method"):
        sasl = sasl_part.sasl(sasl_part.text("method"), user="user", password="pass")  # noqa: S106
        if sasl_part.flag("is_token"):
            if not sasl.mechanism.startswith("SCRAM-"):
                raise sasl_part.error(f"is_token is for SCRAM: a delegation token is no {sasl.mechanism} password")
            sasl = replace(sasl, options={"tokenauth": "true"})
    settings = part.connection("seed_brokers", tls, sasl, DEFAULT_SEEDS)
    return replace(settings, connect_timeout=part.seconds("dial_timeout", admin_settings.CONNECT_TIMEOUT))


# redpanda-data/redpanda's rpk: ``rpk.yaml`` with ``profiles[].kafka_api.{brokers,tls,sasl}``.

RPK = "rpk"
DEFAULT_BROKERS = "127.0.0.1:9092"
DEFAULT_MECHANISM = "SCRAM-SHA-256"


def read_rpk(surroundings: Surroundings) -> Found:
    """Return the profiles in rpk's ``rpk.yaml`` as contexts; empty if the file is missing.

    Raises:
        ContextError: the file can't be read, is not YAML, or its `profiles` are not a list.
    """
    path = _config_folder(surroundings) / "rpk" / "rpk.yaml"
    return _listed(RPK, path, "profiles", "current_profile", _rpk_settings, surroundings)


def _rpk_settings(profile: tool_file.Part) -> admin_settings.ConnectionSettings:
    part = profile.part_or_empty("kafka_api")
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls: admin_settings.TlsSettings | None = None
    if tls_part is not None:
        if not tls_part.text("ca_file"):
            # `ca_file` had this name before May 2023.
            tls_part.table = {**tls_part.table, "ca_file": tls_part.text("truststore_file")}
        tls = tls_part.tls(ca="ca_file", cert="cert_file", key="key_file", insecure="insecure_skip_verify")
    sasl = None
    if sasl_part is not None:
        mechanism = sasl_part.text("mechanism") or sasl_part.text("type") or DEFAULT_MECHANISM
        sasl = _rpk_token(sasl_part, mechanism) or sasl_part.sasl(mechanism, user="user", password="password")  # noqa: S106
    return part.connection("brokers", tls, sasl, DEFAULT_BROKERS)


def _rpk_token(part: tool_file.Part, mechanism: str) -> admin_settings.SaslSettings | None:
    """Return the settings for the token that rpk stores as the password, ``token:…``; None for another mechanism."""
    given = part.secret("password") if mechanism.upper() == "OAUTHBEARER" else None
    if given is None or not given.reveal().startswith("token:"):
        return None
    return admin_settings.SaslSettings("OAUTHBEARER", password=Secret(given.reveal().removeprefix("token:")))


def _config_folder(surroundings: Surroundings) -> Path:
    """Return the folder in which tools written in Go have their configuration files (os.UserConfigDir)."""
    if sys.platform == "darwin":
        return surroundings.home / "Library" / "Application Support"
    return surroundings.config_folder()


def _listed(
    tool: str,
    path: Path,
    key: str,
    current: str,
    make: Callable[[tool_file.Part], admin_settings.ConnectionSettings],
    surroundings: Surroundings,
) -> Found:
    """Return the contexts in a YAML file that has them as a list; empty if the file is missing.

    Args:
        tool: the name of the tool.
        key: the key of the list.
        current: the key whose value is the name of the current context.
        make: returns the settings of one item of the list.
    """
    if not path.is_file():
        return Found()
    table = tool_file.parse_yaml(path)
    items = tool_file.named_items(tool, key, table.get(key), path)
    return tool_file.gather(tool, path, items, make, str(table.get(current) or ""), surroundings)


READERS = ((KAFKACTL, read_kafkactl), (KCL, read_kcl), (KAF, read_kaf), (RPK, read_rpk))
"""Each tool with the function that reads its contexts, in order of precedence."""
