"""Run functions in forked processes at the same time, and collect what they return."""

import os
import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any


def run_forked(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all, let them go at once, wait for all; a failure of any is an AssertionError here."""
    gate_read, gate_write = os.pipe()
    children = []
    for function in functions:
        result_read, result_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(gate_write)
            os.read(gate_read, 1)
            _answer(function, result_write)
        os.close(result_write)
        children.append((pid, result_read))
    os.close(gate_read)
    os.close(gate_write)
    return [_collect(pid, result) for pid, result in children]


def start_forked(function: Callable[[], Any]) -> int:
    """Start one that the test ends by its pid and waits for itself."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(0)
    return pid


def _answer(function: Callable[[], Any], result_write: int) -> None:
    try:
        content = pickle.dumps((True, function()))
    except BaseException:
        content = pickle.dumps((False, traceback.format_exc()))
    with os.fdopen(result_write, "wb") as stream:
        stream.write(content)
    os._exit(0)


def _collect(pid: int, result_read: int) -> Any:
    with os.fdopen(result_read, "rb") as stream:
        content = stream.read()
    os.waitpid(pid, 0)
    worked, value = pickle.loads(content)
    assert worked, value
    return value
