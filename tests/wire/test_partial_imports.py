"""Tests that kac imports only aiokafka's connection module, and of the output of aiokafka's logger."""

import subprocess
import sys
import textwrap

from tests.support.patience import PATIENCE


def run(code: str) -> str:
    """Run code in a new Python interpreter, because the tests' interpreter has imported everything already; return
    its output.
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def test_neither_consumer_nor_producer_is_imported() -> None:
    assert (
        run("""
        import sys
        import console.wire.connection
        print(sorted(name for name in sys.modules if name.startswith(("aiokafka.consumer", "aiokafka.producer"))))
    """)
        == "[]\n"
    )


def test_what_a_connection_does_not_use_is_imported_at_its_first_use() -> None:
    assert (
        run("""
        import sys
        import console.wire.connection
        import aiokafka.conn
        from aiokafka.util import parse_kafka_version
        names = ("aiokafka.protocol.admin", "packaging.version")
        print([name in sys.modules for name in names])
        print(type(aiokafka.conn.ApiVersionRequest()).__name__, parse_kafka_version("2.8.1"))
        print([name in sys.modules for name in names])
    """)
        == "[False, False]\nApiVersionRequest (2, 8, 1)\n[True, True]\n"
    )


def test_whoever_wants_the_whole_package_later_gets_it() -> None:
    assert (
        run("""
        import console.wire.connection
        import aiokafka
        import aiokafka.conn
        from aiokafka import AIOKafkaProducer
        from aiokafka.helpers import create_ssl_context
        print(aiokafka.AIOKafkaConsumer.__name__, AIOKafkaProducer.__name__, hasattr(aiokafka, "no_such_name"))
        print(console.wire.connection._CheckedConnection.__mro__[1] is aiokafka.conn.AIOKafkaConnection)
    """)
        == "AIOKafkaConsumer AIOKafkaProducer False\nTrue\n"
    )


def test_a_package_imported_before_is_left_as_it_is() -> None:
    assert (
        run("""
        import aiokafka
        import console.wire.connection
        print(aiokafka.AIOKafkaConsumer.__name__)
    """)
        == "AIOKafkaConsumer\n"
    )


def test_requests_are_not_logged_however_talkative_the_root_logger_is() -> None:
    assert (
        run("""
        import logging
        logging.basicConfig(level=logging.DEBUG)
        import console.wire.connection
        log = logging.getLogger("aiokafka.conn")
        print(log.isEnabledFor(logging.DEBUG), log.isEnabledFor(logging.WARNING))
    """)
        == "False True\n"
    )
