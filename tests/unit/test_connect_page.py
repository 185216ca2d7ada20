"""What docs/connect.md shows is what kac takes, without a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.admin.connections import sasl_login
from console.contexts import load, resolve

PAGE = Path(__file__).parents[2] / "docs" / "connect.md"
EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_has_an_example_of_each_way() -> None:
    found = {line for text in EXAMPLES for line in text.splitlines() if line.startswith("sasl.mechanism=")}
    mechanisms = {line.partition("=")[2] for line in found}
    assert mechanisms == {"SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"}  # GSSAPI is the default
    assert any("Krb5LoginModule" in text for text in EXAMPLES)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_taken_as_it_is(text: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(text)
    environ = dict.fromkeys(("PASSWORD", "HMAC", "CLIENT_SECRET", "PASSPHRASE", "KEY_PASSWORD"), "open sesame")
    context = resolve(load(environ, tmp_path, cwd=tmp_path), command_config=file)
    assert context.warnings == ()
    login = sasl_login(context.settings)
    assert (login is None) == (context.settings.security_protocol == "SSL")
