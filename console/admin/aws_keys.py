"""AWS credentials from where AWS' own tools take them: the environment, the web identity of a pod (IRSA), a profile's
files with the roles and sessions that it names, the metadata service of a container or of an instance."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import Path

from console.admin.aws_services import (
    Ask,
    AwsKeys,
    Role,
    SsoRole,
    in_answer,
    of_container,
    of_instance,
    of_role,
    of_sso,
    of_web_identity,
    secret_of,
)
from console.admin.jwt import no_token
from console.model.secret import Secret
from console.programs import ProgramFailed, output_of
from console.safe_files import read_text

LARGEST_FILE = 4 << 20
"""Bytes of one of AWS' files."""


def keys_of(ask: Ask, profile: str | None, limit: float) -> AwsKeys:
    """Return the credentials of a profile, or in the order of AWS' own Java client: environment, web identity, profile,
    container, instance. Blocks.

    limit: seconds for a command, the token service or a container's service. Raises AuthenticationFailed: what was
    looked at, without secrets.
    """
    if profile is None:
        if found := _of_environment(ask):
            return found
        role, file = ask.get("AWS_ROLE_ARN"), ask.get("AWS_WEB_IDENTITY_TOKEN_FILE")
        if role and file:
            session = ask.get("AWS_ROLE_SESSION_NAME")
            return of_web_identity(Role(role, session, Path(file)), region_of(ask, None), ask, limit)
    named = profile or ask.get("AWS_PROFILE")
    settings = _section(ask, named or "default")
    if settings:
        if found := _of_profile(settings, named or "default", ask, limit):
            return found
    elif named:
        files = f"{ask.file('AWS_SHARED_CREDENTIALS_FILE', 'credentials')} and {ask.file('AWS_CONFIG_FILE', 'config')}"
        raise no_token(f"there is no AWS profile {named} in {files}", "Check awsProfileName or AWS_PROFILE.")
    if found := of_container(ask, limit):
        return found
    if found := of_instance(ask):
        return found
    looked = "environment, web identity, profile, container, instance"
    raise no_token(
        f"no AWS credentials found: {looked}",
        "Set AWS_PROFILE or AWS_ACCESS_KEY_ID with its secret.",
    )


def region_of(ask: Ask, profile: str | None) -> str | None:
    """Return the region of the environment or the profile."""
    named = profile or ask.get("AWS_PROFILE") or "default"
    return ask.get("AWS_REGION") or ask.get("AWS_DEFAULT_REGION") or _section(ask, named).get("region")


def _of_environment(ask: Ask) -> AwsKeys | None:
    access, secret = ask.get("AWS_ACCESS_KEY_ID"), ask.get("AWS_SECRET_ACCESS_KEY")
    if access and secret:
        return AwsKeys(access, Secret(secret), secret_of(ask.get("AWS_SESSION_TOKEN")), "the environment")
    if access or secret:
        missing = "AWS_SECRET_ACCESS_KEY" if access else "AWS_ACCESS_KEY_ID"
        raise no_token(f"AWS credentials in the environment lack {missing}", f"Set {missing}, or unset both.")
    return None


def _section(ask: Ask, name: str, kind: str = "profile") -> dict[str, str]:
    """Return the settings of a profile in both files, those of ``credentials`` first, or of a section of another kind;
    empty if there is none."""
    found: dict[str, str] = {}
    places = [("AWS_CONFIG_FILE", "config", name if (name, kind) == ("default", "profile") else f"{kind} {name}")]
    places += [("AWS_SHARED_CREDENTIALS_FILE", "credentials", name)] if kind == "profile" else []
    for variable, file, section in places:
        parser = ConfigParser(interpolation=None, strict=False, default_section="\0")
        path = ask.file(variable, file)
        try:
            parser.read_string(read_text(path, LARGEST_FILE))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, ConfigError):
            # The parser's own text has the line, which may hold a secret.
            raise no_token(f"{path} can't be read as AWS' files are", "Correct the file.") from None
        if parser.has_section(section):
            found |= dict(parser.items(section))
    return found


def _of_profile(
    settings: Mapping[str, str], name: str, ask: Ask, limit: float, wanted_by: tuple[str, ...] = ()
) -> AwsKeys | None:
    """Return the credentials of a profile. wanted_by: the profiles whose role is assumed with this one's credentials,
    the first named first."""
    access, secret = settings.get("aws_access_key_id"), settings.get("aws_secret_access_key")
    own = (
        AwsKeys(access, Secret(secret), secret_of(settings.get("aws_session_token")), f"profile {name}")
        if (access and secret)
        else None
    )
    # The keys of a source come first: a profile with both may name itself.
    if own and wanted_by:
        return own
    arn, session = settings.get("role_arn"), settings.get("role_session_name")
    if arn and ("source_profile" in settings or "credential_source" in settings):
        if "mfa_serial" in settings:
            raise no_token(f"AWS profile {name} needs the code of a device (mfa_serial)", _by_hand(name))
        chain = (*wanted_by, name)
        keys = _source(settings, name, ask, limit, chain)
        role = Role(arn, session, None, settings.get("external_id"), settings.get("duration_seconds"))
        return of_role(role, keys, region_of(ask, chain[0]), ask, limit)
    if arn and (file := settings.get("web_identity_token_file")):
        return of_web_identity(Role(arn, session, Path(file).expanduser()), region_of(ask, name), ask, limit)
    if "sso_session" in settings or "sso_start_url" in settings:
        return of_sso(_sso_role(settings, name, ask), name, ask, limit)
    if own:
        return own
    if command := settings.get("credential_process"):
        return _of_command(command, f"credential_process of profile {name}", limit)
    if kinds := sorted({"role_arn", "web_identity_token_file", "login_session"} & settings.keys()):
        raise no_token(f"AWS profile {name} has {kinds[0]} alone, which is not supported", _by_hand(name))
    return None


def _by_hand(name: str) -> str:
    """Return what AWS' own command line can do instead."""
    command = f"aws configure export-credentials --profile {shlex.quote(name)} --format env"
    return f'Run: eval "$({command})", and name no profile here.'


def _source(settings: Mapping[str, str], name: str, ask: Ask, limit: float, wanted_by: tuple[str, ...]) -> AwsKeys:
    """Return the credentials with which a profile's role is assumed."""
    if source := settings.get("source_profile"):
        of_source = _section(ask, source)
        if source in wanted_by and not of_source.get("aws_access_key_id"):
            chain = " → ".join((*wanted_by, source))
            raise no_token(f"AWS profiles have each other as source_profile: {chain}", "Correct ~/.aws/config.")
        if not of_source:
            raise no_token(f"AWS profile {name} has source_profile {source}, which does not exist", "Correct it.")
        found = _of_profile(of_source, source, ask, limit, wanted_by)
        where = f"source_profile {source}"
    else:
        kind = settings["credential_source"]
        where = f"credential_source {kind}"
        if kind == "Environment":
            found = _of_environment(ask)
        elif kind == "EcsContainer":
            found = of_container(ask, limit)
        elif kind == "Ec2InstanceMetadata":
            found = of_instance(ask)
        else:
            known = "Environment, EcsContainer or Ec2InstanceMetadata"
            raise no_token(f"AWS profile {name} has {where}, which is unknown", f"It is {known}.")
    if found is None:
        raise no_token(f"AWS profile {name} assumes its role with {where}, which has no credentials", "Check it.")
    return found


def _sso_role(settings: Mapping[str, str], name: str, ask: Ask) -> SsoRole:
    """Return what a profile says of SSO, or the sso-session that it names."""
    named = settings.get("sso_session")
    shared = _section(ask, named, "sso-session") if named else {}
    every = {**settings, **shared}
    needed = ("sso_start_url", "sso_region", "sso_account_id", "sso_role_name")
    if missing := [each for each in needed if not every.get(each)]:
        raise no_token(
            f"AWS profile {name} lacks {', '.join(missing)}", f"Run: aws configure sso --profile {shlex.quote(name)}"
        )
    start, region, account, role = (every[each] for each in needed)
    return SsoRole(named or start, region, account, role)


def _of_command(command: str, source: str, limit: float) -> AwsKeys:
    remedy = "Run it by hand."
    try:
        output = output_of(command, limit)
    except (ProgramFailed, ValueError) as error:
        raise no_token(f"{source}: {error}", remedy) from None
    return in_answer(output, source, remedy, token="SessionToken")  # noqa: S106 a name
