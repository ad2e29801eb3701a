"""Run random programs, each in one of the modes, and compare them with their serial runs.

    python -m tests.support.engine --programs 100000
    python -m tests.support.engine --seed 7 --programs 1 --repeat 100

A failure prints the program, the order in which its parts were issued, and the command that runs it
again. So does a program that does not end, with what is in flight and the stacks of all threads.
"""

import argparse
import faulthandler
import os
import sys
import threading
import time
from dataclasses import dataclass

import oneflow_lite as flow
from tests.support.engine.execution import BREAKS, TIMEOUT, Completer, Run
from tests.support.engine.generator import program
from tests.support.engine.program import Program
from tests.support.engine.serial import Serial

# Small arrays are work for a worker in some of them; a mode is that of a seed modulo their number.
_FUSED = {"inline": "1us", "fusion": "always"}
MODES: dict[str, dict[str, object]] = {
    "default": {},
    "one": {"engine_threads": 1, **_FUSED},
    "two": {"engine_threads": 2},
    "five": {"engine_threads": 5, "mock": "jitter=20us", **_FUSED},
    "small": {"engine_threads": 2, "max_in_flight": 2, "inline": "0"},
    "naive": {"sync": True},
}


@dataclass
class Watched:
    """What a program that does not end is reported by."""

    program: Program
    command: str
    deadline: float
    run: Run | None = None


class Watchdog:
    """Ends the process with a report when a program takes too long."""

    def __init__(self) -> None:
        self.watched: Watched | None = None
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            time.sleep(0.5)
            watched = self.watched
            if watched is None or time.monotonic() < watched.deadline:
                continue
            print(f"DOES NOT END: {watched.command}\n{watched.program}", flush=True)
            if watched.run is not None:
                print(history(watched.run), flush=True)
            faulthandler.dump_traceback(sys.stdout, all_threads=True)
            print(flow.vm.dump(), flush=True)  # last: it takes a lock
            os._exit(3)


def history(run: Run) -> str:
    """What was issued, in the order of the serial run, and its ends so far."""
    lines = ["issued:"]
    for each in sorted(run.records, key=lambda record: record.start):
        end = repr(each.completion) if each.completion is not None else ""
        lines.append(f"  thread {each.thread}: {each.kind} of {each.step} {end} {each.error or ''}")
    return "\n".join(lines)


def main() -> int:
    """Run them; the number of those that differ is not 0: 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--programs", type=int, default=100, help="how many, with a seed each")
    parser.add_argument("--seconds", type=float, help="no more begins after this time")
    parser.add_argument("--functions", type=int, default=20, help="about how many a program has")
    parser.add_argument("--mode", choices=MODES, help="one for all programs")
    parser.add_argument("--repeat", type=int, default=1, help="run each program so many times")
    parser.add_argument("--print", action="store_true", help="print the first program only")
    parser.add_argument("--trace", action="store_true", help="print each seed before it runs")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for a program")
    parser.add_argument("--broken", choices=BREAKS, help="run them as they should not: many differ")
    given = parser.parse_args()
    if given.print:
        print(program(given.seed, given.functions))
        return 0
    sys.setswitchinterval(2e-5)
    return Session(given).main()


class Session:
    """The programs of one command."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.watchdog = Watchdog()
        self.completer = Completer(threads=0 if given.broken == "ends" else 2)
        self.ran = self.failed = 0

    def main(self) -> int:
        given, begin = self.given, time.monotonic()
        for seed in range(given.seed, given.seed + given.programs):
            if given.seconds is not None and time.monotonic() - begin >= given.seconds:
                break
            self.run(seed)
            if self.failed and not given.keep_going:
                break
        taken = time.monotonic() - begin
        print(
            f"{self.ran} programs from seed {given.seed} in {taken:.1f} s, "
            f"{self.ran / taken:.0f} in a second: {self.failed} failed"
        )
        return 1 if self.failed else 0

    def run(self, seed: int) -> None:
        given = self.given
        one = program(seed, given.functions)
        mode = given.mode or list(MODES)[seed % len(MODES)]
        command = f"python -m tests.support.engine --seed {seed} --programs 1 --mode {mode}"
        command += f" --functions {given.functions} --repeat 100"
        if given.trace:
            print(f"seed {seed}, mode {mode}", flush=True)
        for _ in range(given.repeat):
            watched = Watched(one, command, time.monotonic() + given.timeout)
            self.watchdog.watched = watched
            faulthandler.dump_traceback_later(2 * given.timeout, exit=True)  # nobody has the GIL
            with flow.flags(**MODES[mode]):
                run = watched.run = Run(one, self.completer, given.broken or "")
                differences = self.differences(run)
            self.ran += 1
            if differences:
                self.failed += 1
                report = [f"FAILED: {command}", *differences, str(one), history(run)]
                print("\n".join(report), flush=True)
            run.let_go()
            if differences:
                return

    def differences(self, run: Run) -> list[str]:
        run.run()
        found, run.failures = run.failures, []
        self.completer.failures.clear()
        return found or Serial(run).compare()


if __name__ == "__main__":
    raise SystemExit(main())
