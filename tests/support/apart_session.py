"""A plugin of pytest: runs the tests that a socket names, and answers with their reports."""

import json
import os
import socket
from typing import TextIO

import pytest

from tests.support.apart import VARIABLE


class Answers:
    """Writes reports to the process that asked for them."""

    def __init__(self, config: pytest.Config, file: TextIO) -> None:
        self._config, self._file = config, file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook.pytest_report_to_serializable
        self.write(hook(config=self._config, report=report))

    def write(self, value: object) -> None:
        """One line; None says that the test is over."""
        print(json.dumps(value), file=self._file, flush=True)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run tests until nobody asks for more."""
    if session.testsfailed:  # not collected: pytest says why
        return None
    items = {item.name: item for item in session.items}
    connection = socket.socket(fileno=int(os.environ[VARIABLE]))
    connection.set_inheritable(False)
    with connection, connection.makefile("rw", encoding="utf-8") as file:
        answers = Answers(session.config, file)
        session.config.pluginmanager.register(answers)
        for line in file:
            name, following = json.loads(line)
            session.config.hook.pytest_runtest_protocol(
                item=items[name], nextitem=items.get(following)
            )
            answers.write(None)
        session.config.pluginmanager.unregister(answers)
    return True
