"""Tests that run in processes of their own, one for each file: their process has another driver.

A process has one libcuda.so.1. The tests of such a folder are found, chosen and reported like all
others, but each one runs in a pytest that was started for its file (``apart_session``): this one
names the test, and that one answers with its reports.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.compiling import missing_for_simulation

MOST_SECONDS = 600  # for one test
VARIABLE = "OFL_TEST_APART"  # names the socket, in the other process


class Session:
    """The pytest that runs the tests of one file."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self.path = path
        ours, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115, closed with the session
        options = ["-q", "-p", "no:cacheprovider", "-p", "tests.support.apart_session"]
        options += [f"--rootdir={ROOT}", f"-c{ROOT / 'pyproject.toml'}"]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, f"--confcutdir={path.parent}", path],
                cwd=ROOT,
                env=environment | {VARIABLE: str(theirs.fileno())},
                stdout=self._said,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
            )
        ours.settimeout(MOST_SECONDS)
        self._socket = ours
        self._lines = ours.makefile("rw", encoding="utf-8")

    def run(self, name: str, following: str | None) -> list[dict[str, Any]]:
        """The reports of a test.

        Raises
        ------
        OSError, EOFError
            If the process ends before the test does, or the test does not end.
        """
        print(json.dumps([name, following]), file=self._lines, flush=True)
        reports = []
        while line := self._lines.readline():
            if (report := json.loads(line)) is None:
                return reports
            reports.append(report)
        raise EOFError

    def close(self, wait: float = 30) -> str:
        """End the process; return how it ended and the last of what it printed."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            status = f"ended with {self._process.wait(wait)}"
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = "did not end"
        self._said.seek(0)
        text = self._said.read().decode(errors="replace")
        self._said.close()
        return f"the process of {self.path.name} {status}\n{text[-4000:]}"


class Folder:
    """The tests of one folder, with the environment that their processes have."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._folder = folder
        self._session: Session | None = None
        self._missing = missing_for_simulation(bindings=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
        paths = [str(ROOT), kept.get("PYTHONPATH", "")]
        self._environment = kept | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables

    def mark(self, item: pytest.Item) -> None:
        """The tests of a file go to one worker, which starts one process."""
        if self._missing:
            item.add_marker(pytest.mark.skip(reason=self._missing))
        item.add_marker("toolchain")
        item.add_marker("process")
        item.add_marker(pytest.mark.xdist_group(str(item.path)))

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test of the folder elsewhere; None if it is to run here."""
        if VARIABLE in os.environ or self._missing or item.path.parent != self._folder:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, nextitem):
            report.nodeid = item.nodeid  # which pytest-xdist lengthens
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def close(self) -> None:
        """End the process that is still there."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _reports(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        if self._session is None or self._session.path != item.path:
            self.close()
            self._session = Session(item.path, self._environment)
        is_last = nextitem is None or nextitem.path != item.path
        try:
            found = self._session.run(item.name, None if is_last else nextitem.name)
        except (OSError, EOFError) as error:
            wait = 0 if isinstance(error, TimeoutError) else 30
            session, self._session = self._session, None
            return [_failed(item, session.close(wait))]
        return [_report(item.config, data) for data in found]


def _report(config: pytest.Config, data: dict[str, Any]) -> pytest.TestReport:
    if isinstance(data["longrepr"], list):  # JSON has no tuples: the place and reason of a skip
        data["longrepr"] = tuple(data["longrepr"])
    report = config.hook.pytest_report_from_serializable(config=config, data=data)
    assert isinstance(report, pytest.TestReport)
    return report


def _failed(item: pytest.Item, text: str) -> pytest.TestReport:
    keywords = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(item.nodeid, item.location, keywords, "failed", text, "call")
