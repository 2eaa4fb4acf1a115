#!/usr/bin/env python3
"""Runs one server and writes down what nobody else sees: its stderr line by line, and how it ended.

    spy.py LOG COMMAND [ARG...]

stdin and stdout are the server's own, untouched. LOG gets one JSON object a line, times in nanoseconds of the
monotonic clock, "spy" the process id of the spy, to tell servers apart that share a log:
{"spy", "at", "start": pid}, {"spy", "at", "line": text}, {"spy", "at", "signal": n} for each SIGTERM and SIGINT that
was passed on, and {"spy", "at", "exit": code} (a negative code is the signal that killed the server).

The client's child only waits and passes signals on. The spy proper is a child of that one in a session of its own, so
that it can finish its notes when the client kills what it has started.
"""
import json
import os
import signal
import subprocess
import sys
import time

PASSED_ON = (signal.SIGTERM, signal.SIGINT)


def front(spy):
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(spy, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    # Only the server may keep the pipes to the client open.
    os.close(0)
    os.close(1)
    os.waitpid(spy, 0)


def spy(path, command):
    os.setsid()
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(**what):
        # One write per record, since several servers may share the log.
        os.write(log, (json.dumps({"spy": os.getpid(), "at": time.monotonic_ns(), **what}) + "\n").encode())

    def pass_on(number, _frame):
        note(signal=number)
        if server.returncode is None:
            server.send_signal(number)

    unblock = lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    server = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=unblock)
    note(start=server.pid)
    for number in PASSED_ON:
        signal.signal(number, pass_on)
    unblock()
    os.close(0)
    os.close(1)
    for line in server.stderr:
        note(line=line.decode(errors="replace").rstrip("\n"))
    note(exit=server.wait())


# Signals wait until there is a server that can have them.
signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
if child := os.fork():
    front(child)
else:
    spy(sys.argv[1], sys.argv[2:])
