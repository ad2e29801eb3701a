"""Runs a program in its threads and notes all that it sees, in an order that is its serial one.

Functions over shared names are pushed with a lock, so the times of their pushes do not overlap:
their order is that of the times, as is that of one thread's.
"""

import random
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite import engine
from tests.support.engine.functions import Body, Operand, Place, new_cells
from tests.support.engine.program import (
    Function,
    Program,
    Step,
    Use,
    device_of,
    is_shared,
    is_variable,
)
from tests.support.engine.tensors import OPERATIONS

TIMEOUT = 60.0
ROOM = 1000  # no program has as many functions in flight
# A run that is not as it should be: the comparison, or the watchdog, has to see it.
BREAKS = {
    "reads": "no variable that a function reads is declared",
    "writes": "no variable that a function writes is declared",
    "ends": "no function that completes later completes",
}


@dataclass(eq=False)
class Record:
    """One thing that was issued, with what was seen of it."""

    kind: str  # function, tensor, clear, delete, look, wait, wait_all
    step: Step
    thread: int
    start: int = 0
    end: int = 0
    reads: Sequence[Operand] = ()
    writes: Sequence[Operand] = ()
    body: Body | None = None
    completion: Any = None
    cancelled: bool = False
    was_held: bool = False  # it could not begin before it was cancelled
    told: list[Any] = field(default_factory=list)  # by a callback
    value: Any = None  # that a look or a function of a deletion saw
    error: BaseException | None = None

    @property
    def name(self) -> str:
        """By which errors call it."""
        if self.body is not None:
            return f"f{self.body.function.number}"
        return f"s{self.step.number}"

    def touches(self, place: Place) -> bool:
        return any(each.place is place for each in (*self.reads, *self.writes))


class Completer:
    """Threads that complete functions, the last to come as likely first as any other."""

    def __init__(self, threads: int = 2) -> None:
        self.condition = threading.Condition()  # guards the rest
        self.waiting: list[Any] = []
        self.failures: list[str] = []
        for k in range(threads):
            threading.Thread(target=self._work, args=(k,), daemon=True).start()

    def put(self, complete: Any) -> None:
        with self.condition:
            self.waiting.append(complete)
            self.condition.notify()

    def _work(self, seed: int) -> None:
        rng = random.Random(seed)
        while True:
            with self.condition:
                self.condition.wait_for(lambda: self.waiting)
            for _ in range(rng.randrange(4)):
                time.sleep(0)  # others come
            with self.condition:
                if not self.waiting:
                    continue
                complete = self.waiting.pop(rng.randrange(len(self.waiting)))
            try:
                complete()
            except BaseException:
                self.failures.append(traceback.format_exc())


def how_of(function: Function) -> dict[str, Any]:
    """How it is pushed."""
    if function.device:
        return {"device": function.device, "stream": function.stream}
    return {"priority": function.priority, "blocking": function.blocking}


class Hold:
    """A function that completes when it is told to, or at once if it was told before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards the rest
        self.is_released = False
        self.on_complete: Any = None

    def __call__(self, run: Any, on_complete: Any) -> None:
        with self.lock:
            if not self.is_released:
                self.on_complete = on_complete
                return
        on_complete()

    def release(self) -> None:
        with self.lock:
            self.is_released = True
            on_complete, self.on_complete = self.on_complete, None
        if on_complete is not None:
            on_complete()


class Run:
    """One execution of a program."""

    def __init__(self, program: Program, completer: Completer, broken: str = "") -> None:
        self.program, self.completer = program, completer
        self.broken = broken  # a row of BREAKS
        # A push waits for functions that have not completed: in naive mode, and in a small window.
        self.can_hold = not flow.flags.sync and flow.flags.max_in_flight > ROOM
        self.cells, self.next_cell = new_cells()
        self.lock = threading.Lock()  # of pushes over shared names
        self.places: dict[str, Place] = {}  # by their present names
        self.all_places: list[Place] = []
        self.records: list[Record] = []  # appended by any thread
        self.pushed: dict[int, list[Record]] = {}  # by the number of the step
        self.operators: dict[int, tuple[engine.Operator, Body]] = {}
        self.bodies: list[Body] = []
        self.failures: list[str] = []
        for name in program.names:
            self.new_place(name)
        for _, step in program.steps():
            for name in step.names():
                if name not in self.places:
                    self.new_place(name)
        self.first_numbers = list(self.cells)

    def let_go(self) -> None:
        """An error that a variable keeps has the frames of its function, and they have this run."""
        for body in self.bodies:
            body.reads = body.writes = ()
        for each in (self.places, self.all_places, self.records, self.pushed, self.operators):
            each.clear()

    def new_place(self, name: str) -> None:
        if is_variable(name):
            place = Place(name, engine.Var(name), next(self.next_cell))
        else:
            values = np.arange(self.program.size, dtype=np.int64) * 3 + len(name)
            tensor = flow.asarray(values.copy(), device=device_of(name), copy=True)
            place = Place(name, tensor, first=values)
        self.places[name] = place
        self.all_places.append(place)

    # --- running it

    def run(self) -> None:
        """All threads to their ends, then all that they have pushed."""
        threads = [
            threading.Thread(target=self.work, args=(k,), daemon=True)
            for k in range(1, len(self.program.threads))
        ]
        for each in threads:
            each.start()
        self.work(0)
        for each in threads:
            each.join()
        seen = 0
        while seen < len(self.records):  # functions push others
            self.result_of(self.records[seen])
            seen += 1
        self.wait(Step(-1, "wait_all"), 0)
        self.failures += self.completer.failures

    def work(self, thread: int) -> None:
        try:
            for step in self.program.threads[thread]:
                self.do(step, thread)
        except BaseException:
            self.failures.append(f"thread {thread}, step {step}:\n{traceback.format_exc()}")

    def do(self, step: Step, thread: int) -> None:
        getattr(self, step.kind)(step, thread)

    def guard(self, names: Sequence[str]) -> AbstractContextManager[Any]:
        return self.lock if any(map(is_shared, names)) else nullcontext()

    def inner_steps(self, thread: int) -> Any:
        """The pushes of a function: they must not wait for a lock whose owner waits for room."""

        def push_inner(steps: Sequence[Step]) -> None:
            for step in steps:
                is_locked = any(map(is_shared, step.names()))
                if is_locked and not self.lock.acquire(blocking=False):
                    continue
                try:
                    if step.kind == "push":
                        self.push_function(step, thread, step.function)
                    else:
                        self.result(step, thread)
                except BaseException:
                    self.failures.append(f"inner step {step}:\n{traceback.format_exc()}")
                finally:
                    if is_locked:
                        self.lock.release()

        return push_inner

    # --- records

    def operands(self, uses: Sequence[Use]) -> list[Operand]:
        return [Operand(self.places[use.name], use.part) for use in uses]

    def issue(self, record: Record, call: Any) -> Record | None:
        """Call it, and note it unless a deleted variable is refused."""
        deleted = self.deleted_names(record.reads, record.writes)
        record.start = time.perf_counter_ns()
        try:
            record.completion = call()
        except RuntimeError as error:
            if deleted and any(f'"{name}" has been deleted' in str(error) for name in deleted):
                return None
            raise
        record.end = time.perf_counter_ns()
        assert not deleted, f"step {record.step}: {deleted} are deleted and were taken"
        self.records.append(record)
        return record

    def body(self, function: Function, thread: int) -> Body:
        body = Body(
            function,
            self.operands(function.reads),
            self.operands(function.writes),
            self.cells,
            self.inner_steps(thread),
            self.completer,
        )
        self.bodies.append(body)
        return body

    def declared(self, body: Body) -> tuple[list[Any], list[Any]]:
        """What the engine is told."""
        reads, writes = (
            [each.token() for each in operands if self.is_declared(each, name)]
            for name, operands in (("reads", body.reads), ("writes", body.writes))
        )
        return reads, writes

    def is_declared(self, operand: Operand, broken: str) -> bool:
        return not operand.place.is_variable or self.broken != broken

    def deleted_names(self, reads: Sequence[Operand], writes: Sequence[Operand]) -> list[str]:
        uses = [each for each in reads if self.is_declared(each, "reads")]
        uses += [each for each in writes if self.is_declared(each, "writes")]
        return [each.place.name for each in uses if each.place.deleted]

    def push_function(self, step: Step, thread: int, function: Function | None) -> Record | None:
        assert function is not None
        body = self.body(function, thread)
        record = Record("function", step, thread, 0, 0, body.reads, body.writes, body)
        done = self.issue(record, lambda: self.push_body(body, record.name))
        if done is None:
            return None
        if function.number % 3 == 0:
            record.completion.add_done_callback(record.told.append)
        self.pushed.setdefault(step.number, []).append(record)
        return record

    def push_body(self, body: Body, name: str) -> engine.Completion:
        reads, writes = self.declared(body)
        if body.function.flavour == "kernel":
            return body.launch(reads, writes, name)
        code, is_later = body.pushable()
        push = engine.push_async if is_later else engine.push
        return push(code, reads, writes, name=name, **how_of(body.function))

    # --- steps: each is the method of its kind

    def push(self, step: Step, thread: int) -> None:
        with self.guard(step.names()):
            self.push_function(step, thread, step.function)

    def hold(self, step: Step, thread: int) -> None:
        """Nothing runs behind a function that has not completed, so the cancellation succeeds."""
        hold = Hold()
        with self.lock:
            if self.can_hold:
                record = Record("hold", step, thread, writes=self.operands([Use(step.name)]))
                tokens = [each.token() for each in record.writes]
                name = record.name
                self.issue(record, lambda: engine.push_async(hold, writes=tokens, name=name))
            held = self.push_function(step, thread, step.function)
            if held is not None:
                held.cancelled = held.completion.cancel()
                held.was_held = self.can_hold
        hold.release()

    def make(self, step: Step, thread: int) -> None:
        function = step.function
        assert function is not None
        with self.guard(step.names()):
            body = self.body(function, thread)
            code, _ = body.pushable()
            deleted = self.deleted_names(body.reads, body.writes)
            try:
                name = f"f{function.number}"
                operator = engine.Operator(
                    code, *self.declared(body), name=name, **how_of(function)
                )
            except RuntimeError:
                if deleted:
                    return
                raise
            assert not deleted, f"step {step}: a deleted variable was taken"
            self.operators[step.number] = operator, body

    def again(self, step: Step, thread: int) -> None:
        if step.of not in self.operators:
            return
        operator, body = self.operators[step.of]
        names = [each.place.name for each in (*body.reads, *body.writes)]
        for _ in range(step.count):
            with self.guard(names):
                record = Record("function", step, thread, 0, 0, body.reads, body.writes, body)
                if self.issue(record, operator.push) is not None:
                    self.pushed.setdefault(step.number, []).append(record)

    def tensor(self, step: Step, thread: int) -> None:
        with self.guard(step.names()):
            writes, reads = (self.operands([Use(name)]) for name in (step.name, step.other))
            x, y = writes[0].place.token, reads[0].place.token

            def operate() -> None:
                OPERATIONS[step.how](x, y if y.device == x.device else y.to(x.device))

            self.issue(Record("tensor", step, thread, 0, 0, reads, writes), operate)

    def delete(self, step: Step, thread: int) -> None:
        with self.guard([step.name]):
            record = Record("delete", step, thread, writes=self.operands([Use(step.name)]))
            place = record.writes[0].place

            def end() -> int:
                record.told.append(None)
                if step.how == "fails":
                    raise ValueError(step.number)
                return int(self.cells[place.cell])

            end.__qualname__ = record.name
            if step.how:
                self.issue(record, lambda: engine.delete(place.token, end))
            else:
                self.issue(record, place.token.delete)
            place.deleted = True
            assert place.token.deleted

    def renew(self, step: Step, thread: int) -> None:
        with self.guard([step.name]):
            self.new_place(step.name)

    def clear(self, step: Step, thread: int) -> None:
        with self.guard([step.name]):
            record = Record("clear", step, thread, writes=self.operands([Use(step.name)]))
            self.issue(record, record.writes[0].place.token.clear_error)

    def cancel(self, step: Step, thread: int) -> None:
        for record in self.pushed.get(step.of, ()):
            record.cancelled |= record.completion.cancel()

    def result(self, step: Step, thread: int) -> None:
        for record in self.pushed.get(step.of, ()):
            self.result_of(record)

    @staticmethod
    def result_of(record: Record) -> None:
        if record.completion is None:
            return
        try:
            record.value = record.completion.result(TIMEOUT)
        except (Exception, CancelledError) as error:
            if isinstance(error, TimeoutError) and "is not over" in str(error):
                raise
            record.error = error
        assert record.completion.done()

    def look(self, step: Step, thread: int) -> None:
        with self.guard([step.name]):
            record = Record("look", step, thread, reads=self.operands([Use(step.name)]))
            x = record.reads[0].place.token
            copies: list[Any] = []
            self.issue(record, lambda: copies.append(x + 0))
        try:
            record.value = copies[0].numpy().copy()
        except Exception as error:
            record.error = error

    def wait(self, step: Step, thread: int) -> None:
        """All that was pushed before is over."""
        record = Record(step.kind, step, thread, start=time.perf_counter_ns())
        place = self.places[step.name] if step.name else None
        before = [each for each in self.records if place is None or each.touches(place)]
        try:
            if place is None:
                engine.wait_all()
            else:
                record.reads = [Operand(place, None)]
                engine.wait(place.token)
        except Exception as error:
            record.error = error
        for each in before:
            is_over = each.completion is None or each.completion.done()
            assert is_over, f"after {step}: {each.step} is not over"
        record.end = time.perf_counter_ns()
        self.records.append(record)

    wait_all = wait
