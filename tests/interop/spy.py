#!/usr/bin/env python3
"""Runs one server and writes down what nobody else sees: its stderr line by line, and how it ended.

    spy.py LOG COMMAND [ARG...]

stdin and stdout are the server's own, untouched. LOG gets one JSON object a line, times in nanoseconds of the
monotonic clock, "spy" the process id of the spy, to tell servers apart that share a log:
{"spy", "at", "start": pid}, {"spy", "at", "line": text}, {"spy", "at", "signal": n} for each SIGTERM and SIGINT that
the spy was sent and passed on, and {"spy", "at", "exit": code} (a negative code is the signal that killed it).
"""
import json
import os
import signal
import subprocess
import sys
import time

log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
server = None
pending = []


def note(**what):
    # One write per record: several servers may share the log.
    os.write(log, (json.dumps({"spy": os.getpid(), "at": time.monotonic_ns(), **what}) + "\n").encode())


def pass_on(number, _frame):
    note(signal=number)
    if server is None:
        pending.append(number)
    elif server.returncode is None:
        server.send_signal(number)


for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, pass_on)
server = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
note(start=server.pid)
for number in pending:
    server.send_signal(number)
# The spy's copies must not keep the pipes to the client open.
os.close(0)
os.close(1)
for line in server.stderr:
    note(line=line.decode(errors="replace").rstrip("\n"))
note(exit=server.wait())
sys.exit(0)
