"""Host functions that wait: what they wait for runs in their thread, or they are told why not.

Each program runs in a process of its own, as what fails here is that it never ends.
"""

from collections.abc import Callable
from typing import Any

import pytest

START = """
import threading, time
import numpy as np
import oneflow_lite as flow

host_func = flow.vm.host_func
events = []

def note(text, use=lambda: None):
    def noted(*arrays):
        events.append(text)
        for array in arrays:
            if array.flags.writeable: array += 1
        return use()
    return noted
"""

# Programs that print the same in naive mode.
ANSWERS = {
    "one that it issued": "print(host_func(lambda: host_func(lambda: 3).result() + 1).result())",
    "wait and result": """
def outer():
    inner = host_func(lambda: 3)
    inner.wait()
    return inner.done(), inner.result()
print(host_func(outer).result())
""",
    "a chain of them": """
def count(n): return n + (host_func(lambda: count(n - 1)).result() if n else 0)
print(host_func(lambda: count(60)).result())
""",
    "what comes after one": """
y = flow.zeros(50_000)
def outer():
    host_func(lambda y: y.fill(2), writes=[y])
    return float((y * 3 + 1)[7].item())
print(host_func(outer).result())
""",
    "what comes after one on a device": """
y = flow.zeros(50_000)
def outer():
    host_func(lambda y: y.fill(2), writes=[y])
    return float((y.mock(0) * 3 + 1).mock(1).cpu()[7].item())
print(host_func(outer).result())
""",
    "one behind others, by way of each other": """
y, z = flow.zeros(5), flow.zeros(5)
def outer():
    for _ in range(3):
        host_func(lambda y: y.__iadd__(1), writes=[y])
        host_func(lambda y, z: z.__iadd__(y), reads=[y], writes=[z])
    return (z + y).tolist()
print(host_func(outer).result())
""",
    "an error of one": """
def outer():
    try: host_func(lambda: 1 / 0).result()
    except ZeroDivisionError: return "divided"
print(host_func(outer).result())
""",
    "a skipped one": """
y = flow.zeros(5)
def outer():
    host_func(lambda _: 1 / 0, writes=[y])
    try: host_func(lambda _: 1, reads=[y]).result()
    except ZeroDivisionError: return "skipped"
print(host_func(outer).result())
""",
    "more than the window has": """
def outer():
    calls = [host_func(lambda i=i: i) for i in range(5000)]
    return sum(call.result() for call in calls)
print(host_func(outer).result())
""",
    "a copy of a large array": """
y = flow.zeros(5)
def outer():
    host_func(lambda y: y.fill(2), writes=[y])
    return float((flow.tensor(np.ones(3_000_000)).mock(0)[:5] + y.mock(0)).sum().item())
print(host_func(outer).result())
""",
    "exported memory": """
y = flow.zeros(5)
def outer():
    host_func(lambda y: y.fill(2), writes=[y])
    return np.asarray(y).tolist()
print(host_func(outer).result())
""",
    "two threads that issue": """
def outer(i): return host_func(lambda: host_func(lambda: i).result()).result()
def work(i): sums[i] = sum(host_func(lambda n=n: outer(n)).result() for n in range(50))
sums = [0, 0, 0]
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
print(sums)
""",
    "one of another thread": """
x = flow.zeros(4)
begun, filled = threading.Event(), threading.Event()
def outer():
    begun.set()
    while flow.vm.stats()["in_flight"] < 2 and not filled.is_set(): time.sleep(0)
    return (x + 1).tolist()
def fill(x):
    x.fill(5)
    filled.set()
def other():
    begun.wait()
    host_func(fill, writes=[x])
thread = threading.Thread(target=other)
thread.start()
print(host_func(outer).result())
thread.join()
""",
    "at the end of the process": """
done = threading.Event()
def outer():
    call = host_func(lambda: 3)
    done.set()
    print(call.result(), flush=True)
host_func(outer)
done.wait()
""",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_it_gets_the_answer_of_naive_mode(run_program: Callable[..., Any], name: str) -> None:
    naive = run_program(START + ANSWERS[name], timeout=60, sync="1")
    assert (naive.returncode, naive.stderr) == (0, "")
    done = run_program(START + ANSWERS[name], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == naive.stdout != ""


QUEUED = """
begun, issued = threading.Event(), threading.Event()
def outer(*_):
    begun.set()
    assert issued.wait(60)
    try:
        return inside()
    except RuntimeError as error:
        return str(error)
y = flow.zeros(5000)
call = host_func(outer, writes=[y])
assert begun.wait(60)
"""

# Programs whose host function waits for what another thread has issued meanwhile.
MEANWHILE = {
    "one in the queue": (
        "x = flow.zeros(4)\nhost_func(lambda x: x.fill(5), writes=[x])",
        "x.tolist()",
        "[5.0, 5.0, 5.0, 5.0]",
    ),
    "one in the queue, by way of a device": (
        "x = flow.zeros(4)\nhost_func(lambda x: x.fill(5), writes=[x])\nz = x.mock(0) + 1",
        "z.tolist()",
        "[6.0, 6.0, 6.0, 6.0]",
    ),
    "what comes after it": ("z = y + 1", "z.numpy()", "cannot wait for itself"),
    "what comes after that": ("z = (y + 1).mock(0)", "z[0].item()", "cannot wait for itself"),
    "one behind it": (
        "other = host_func(lambda _: 1, reads=[y])",
        "other.result()",
        "cannot wait for itself",
    ),
    "one behind a barrier": (
        "flow.vm.barrier()",
        "host_func(lambda: 1).result()",
        "cannot wait for itself",
    ),
    "a copy behind a barrier": (
        "flow.vm.barrier()",
        "flow.tensor(np.ones(3_000_000)).mock(0)",  # nobody waits for it inside
        "tensor([1., 1., 1., ..., 1., 1., 1.]",
    ),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_it_waits_or_is_told(run_program: Callable[..., Any], name: str) -> None:
    meanwhile, inside, expected = MEANWHILE[name]
    code = f"{START}def inside(): return {inside}\n{QUEUED}{meanwhile}\nissued.set()\n"
    done = run_program(code + "print(call.result())", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert expected in done.stdout


def test_nothing_else_runs_inside_it(run_program: Callable[..., Any]) -> None:
    """What else is queued may wait for what the host function does later."""
    code = """
def inside():
    with lock:
        inner = host_func(note("inner")).result()
    events.append("outer ends")
lock = threading.Lock()
"""
    after = """
def take():
    with lock: events.append("other")
other = host_func(take)
issued.set()
call.result(), other.result()
print(events)
"""
    done = run_program(START + code + QUEUED + after, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "['inner', 'outer ends', 'other']\n"


def test_a_full_window_of_what_waits_for_it(run_program: Callable[..., Any]) -> None:
    """It is told where no room can be made before it ends."""
    code = """
def inside():
    y_copies.append(1)
    for _ in range(100): host_func(lambda: 1)
y_copies = []
"""
    after = """
devices = ["cpu", "mock:0", "mock:1"]
there = [flow.zeros(5000, device=device) for device in devices]
hold = [y.mock(0), y.mock(1)]
kept = [(y + 1, hold[0] + 1, hold[1] + 1) for _ in range(680)]
issued.set()
print(call.result())
flow.synchronize()
print(kept[-1][2][0].item())
"""
    done = run_program(START + code + QUEUED + after, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "1.0"
    assert "can issue no more before it ends" in done.stdout or done.stdout.startswith("None")


def test_forks_beside_it(run_program: Callable[..., Any]) -> None:
    """In the child, what it runs and what that runs have failed; in the parent they go on."""
    code = (
        """
import os, threading, warnings
warnings.simplefilter("ignore")
hooks, begun, go_on = [], threading.Event(), threading.Event()
os.register_at_fork(before=lambda: [hook() for hook in hooks])
"""
        + START
        + """
x, y = flow.zeros(5), flow.zeros(5)
calls = []
def inner(_):
    begun.set()
    go_on.wait()
    return 3
def outer(_):
    calls.append(host_func(inner, writes=[y]))
    return calls[1].result() + 1
def meanwhile():
    if not calls:
        thread = threading.Thread(target=lambda: calls.append(host_func(outer, writes=[x])))
        thread.start()
        thread.join()
        begun.wait()
hooks.append(meanwhile)
pid = os.fork()
if pid == 0:
    messages = []
    for look in (calls[0].result, calls[1].result, (x + 1).tolist, y.mock().tolist):
        try: look()
        except RuntimeError as error: messages.append("in flight in another thread" in str(error))
    new = host_func(lambda: host_func(lambda: 7).result()).result()
    os._exit(0 if messages == [True] * 4 and new == 7 else 1)
go_on.set()
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert calls[0].result() == 4 and (x + y).tolist() == [0] * 5
stop = threading.Event()
def loop():
    while not stop.is_set(): assert host_func(lambda: host_func(lambda: 3).result()).result() == 3
threads = [threading.Thread(target=loop) for _ in range(2)]
for t in threads: t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(host_func(lambda: host_func(lambda: 7).result()).result() - 7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
for t in threads: t.join()
"""
    )
    done = run_program(code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_forks_beside_one_that_waits_for_it_in_naive_mode(run_program: Callable[..., Any]) -> None:
    """In the child the one that ran has failed; in the parent both go on."""
    code = (
        """
import os, signal, warnings
warnings.simplefilter("ignore")
hooks = []
os.register_at_fork(before=lambda: [hook() for hook in hooks])
"""
        + START
        + """
x = flow.zeros(4)
begun, waits, go_on = (threading.Event() for _ in range(3))
def outer(_):
    begun.set()
    go_on.wait()
def fill(x): x.fill(5)
def wait_for_outer():
    waits.set()
    host_func(fill, writes=[x])
threads = [
    threading.Thread(target=lambda: host_func(outer, writes=[x])),
    threading.Thread(target=wait_for_outer),
]
def meanwhile():
    threads[0].start()
    begun.wait()
    threads[1].start()
    waits.wait()
hooks.append(meanwhile)
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    try: x.tolist()
    except RuntimeError as error: failed = "in flight in another thread" in str(error)
    os._exit(0 if failed and host_func(lambda: 7).result() == 7 else 1)
go_on.set()
for t in threads: t.join()
print(x.tolist(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    done = run_program(code, timeout=60, sync="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[5.0, 5.0, 5.0, 5.0] 0\n"
