"""Test that the console warns about a connection on which the credentials can be read by others."""

from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.secret import Secret
from tests.tui.console_app import driven


async def test_the_header_says_so_and_a_message_why() -> None:
    login = SaslSettings("PLAIN", "alice", Secret("hunter2"))
    settings = ConnectionSettings((("broker", 9092),), "SASL_PLAINTEXT", login)
    async with driven(connection=settings) as it:
        await it.shows("EXPOSED")
        assert it.text.count("PLAIN over SASL_PLAINTEXT sends the password in the clear") == 1
        await it.press("j", "4", shows="EXPOSED")
