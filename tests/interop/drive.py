#!/usr/bin/env python3
"""Drives the official clients against the example `files` and judges what client and server saw.

    drive.py --files BINARY --venvs DIR [--only TEXT]... [--list]

Every client runs the same story over stdio and over HTTP: connect, list, a call with progress, two calls cancelled
half way (the *server* has to notice: `files` says so on stderr), another call, close. `spy.py` stands between client
and server and notes the server's stderr and its end. The inspector's command line gets a story of its own.
`run.sh` installs the clients and calls this.
"""
import argparse
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODERN, LEGACY = "2026-07-28", "2025-11-25"

# A step of a client that takes longer than this has failed; far above anything seen.
STEP = 20.0
# From the client's cancel to the server's "cancelled" line.
NOTICE = 2.0
# From the end of input to the end of the server: clients send SIGTERM two seconds after it.
END = 1.5
# From SIGTERM to the end of the server; it has a second for its calls.
GRACE = 3.0
# What a client says when it cancels.
REASON = "interop changed its mind"


@dataclass
class Client:
    name: str
    command: list[str]
    mode: str
    version: str
    # mcp 1.x stops waiting, and tells the server nothing.
    cancels: bool = True
    # The reason arrives where the cancellation is a message that carries the caller's words.
    gives_reason: bool = False


def clients(venvs):
    def python(venv, script):
        return [f"{venvs}/{venv}/bin/python", str(HERE / "clients" / script)]

    def node(script):
        return ["node", str(HERE / "clients" / script)]

    for mode, version in (("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)):
        yield Client("npm client 2", node("client.mjs"), mode, version, gives_reason=True)
    yield Client("npm sdk 1", node("sdk.mjs"), "legacy", LEGACY, gives_reason=True)
    for mode, version in (("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)):
        yield Client("pypi mcp 2", python("mcp-2", "mcp_2.py"), mode, version)
    yield Client("pypi mcp 1", python("mcp-1", "mcp_1.py"), "legacy", LEGACY, cancels=False)
    for mode, version in (("legacy", LEGACY), ("auto", MODERN)):
        yield Client("pypi fastmcp 4", python("fastmcp", "fast.py"), mode, version)


class Checks:
    """Counts and prints; a failed check does not end the story."""

    def __init__(self):
        self.passed = self.failed = 0
        self.label = ""

    def __call__(self, claim, holds, detail=""):
        if holds:
            self.passed += 1
            print(f"ok    {self.label}: {claim}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL  {self.label}: {claim}{f' – {detail}' if detail != '' else ''}", flush=True)
        return holds


class Spied:
    """What the spy wrote down about the servers of one story."""

    def __init__(self, path):
        self.path = path

    def records(self):
        with contextlib.suppress(FileNotFoundError):
            text = self.path.read_text()
            return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return []

    def wait(self, wanted, seconds):
        """The first record for which `wanted` gives something true, and that; waits for it."""
        end = time.monotonic() + seconds
        while True:
            late = time.monotonic() > end
            for record in self.records():
                if found := wanted(record):
                    return record, found
            if late:
                return None, None
            time.sleep(0.01)

    def cancelled(self, tool, since, seconds=NOTICE):
        """The reason in `cancelled: TOOL after N ms: REASON`, printed after `since` (monotonic ns)."""
        line = re.compile(rf"cancelled: {tool} after \d+ ms: (.*)")

        def wanted(record):
            return record["at"] >= since and line.fullmatch(record.get("line", ""))

        record, match = self.wait(wanted, seconds)
        return match[1] if record else None

    def busy(self, more, seconds):
        """Waits until the newest server has used so many seconds of processor time more than now."""
        limit = time.monotonic() + seconds
        server, used = self._processor_time()
        while time.monotonic() < limit:
            newest, now = self._processor_time()
            if now - (used if newest == server else 0) >= more:
                return
            time.sleep(0.02)

    def _processor_time(self):
        server = max((record for record in self.records() if "start" in record), key=lambda r: r["at"], default=None)
        if server:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{server['start']}/stat").read_text().rpartition(")")[2].split()
                return server, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return server, 0.0

    def reap(self):
        """Kills what is left of the servers that the spy has started."""
        records = self.records()
        done = {record["spy"] for record in records if "exit" in record}
        for record in records:
            if "start" in record and record["spy"] not in done:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(record["start"], signal.SIGKILL)

    def tail(self):
        return [record.get("line", record) for record in self.records()][-8:]


def spied(log, *command):
    return [sys.executable, str(HERE / "spy.py"), str(log), *map(str, command)]


class HttpServer:
    """`files` over HTTP, on a port of its own choice."""

    def __init__(self, files, tree, log):
        self.log = Spied(log)
        self.process = subprocess.Popen(
            spied(log, files, tree, "--listen", "127.0.0.1:0"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        address = re.compile(r".*(http://127\.0\.0\.1:\d+/mcp)\b.*")
        _, match = self.log.wait(lambda record: address.fullmatch(record.get("line", "")), STEP)
        self.url = match[1] if match else None

    def answers(self):
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "interop", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}}
        request = urllib.request.Request(
            self.url,
            json.dumps(body).encode(),
            {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": MODERN,
                "mcp-method": "server/discover",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status == 200 and b"supportedVersions" in response.read()
        except OSError:
            return False

    def stop(self):
        """SIGTERM, if it still runs; the exit code, or None when the server had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.log.wait(lambda record: "exit" in record, GRACE)
        code = next((record["exit"] for record in self.log.records() if "exit" in record), None)
        self.log.reap()
        end(self.process)
        return code


def end(process):
    """Ends a process and whatever it left in its group or below it."""
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        for child in children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()


def children(pid):
    with contextlib.suppress(OSError):
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [below for child in map(int, listed) for below in (*children(child), child)]
    return []


class Driven:
    """A client process that takes orders (see clients/driven.mjs)."""

    def __init__(self, command, log):
        self.stderr = open(log, "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr)
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self.events.put(json.loads(line))
        self.events.put({"event": "gone"})

    def order(self, do, until, **rest):
        """Gives an order; the events up to the one named `until`, or to a failure."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write((json.dumps({"do": do, **rest}) + "\n").encode())
            self.process.stdin.flush()
        seen = []
        deadline = time.monotonic() + STEP
        while not seen or seen[-1]["event"] not in (until, "failed", "gone", "overdue"):
            try:
                seen.append(self.events.get(timeout=max(0, deadline - time.monotonic())))
            except queue.Empty:
                seen.append({"event": "overdue"})
        return seen

    def call(self, tool, arguments, cancel=None):
        return self.order("call", "answer", tool=tool, arguments=arguments, cancel=cancel)

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        end(self.process)
        self.stderr.close()


def plant(tree):
    """A directory with known content, and a huge one: one text file under twenty thousand names.

    The known one has padding, so that a search of it takes a moment: the JavaScript clients drop progress that they
    read in one piece with the answer.
    """
    small = tree / "known" / "small"
    small.mkdir(parents=True)
    for i in range(24):
        lines = [f"line {line} of file {i}" for line in range(1, 41)]
        if i % 6 == 0:
            lines[i] = f"here is the needle of file {i}"
        (small / f"file-{i:02}.txt").write_text("\n".join(lines) + "\n")
    (small / "binary.bin").write_bytes(b"\0\1\2needle\0" * 64)
    (tree.parent / "outside.txt").write_text("nobody may read this\n")
    (tree / "huge").mkdir()
    first = tree / "huge" / "text.txt"
    first.write_text("a line of text that nobody is looking for\n" * 50_000)
    for folder in (tree / "known" / "padding", *(tree / "huge" / f"{i:02}" for i in range(20))):
        folder.mkdir()
        for name in range(100 if folder.name == "padding" else 1000):
            os.link(first, folder / f"{name:03}.txt")


NEEDLES = [f"file-{i:02}.txt" for i in (0, 6, 12, 18)]


def found_all(text):
    return all(name in text for name in NEEDLES) and "file-01.txt" not in text and "binary.bin" not in text


def story(check, client, transport, files, tree, work):
    log = Spied(work / "server.log")
    http = None
    if transport == "http":
        http = HttpServer(files, tree, log.path)
        if not check("the server starts and names its address", http.url, log.tail()):
            http.stop()
            return
        target = [http.url]
    else:
        target = spied(log.path, files, tree, "--stdio")
    driven = Driven([*client.command, client.mode, *target], work / "client.log")
    try:
        if tell(check, client, transport, driven, log):
            finish(check, client, driven, log, http)
    finally:
        driven.end()
        if http:
            http.stop()


def tell(check, client, transport, driven, log):
    """From connect to the last call; whether it is worth going on."""
    *_, last = driven.order("connect", "connected")
    if not check(f"connects in {client.version}", last.get("version") == client.version, [last, log.tail()]):
        return False
    *_, last = driven.order("list", "tools")
    names = sorted(last.get("names", []))
    check("lists the four tools", names == ["digest", "list", "read", "search"], last)

    *progress, answer = driven.call("search", {"text": "needle", "path": "known"})
    check("search finds the needles", not answer.get("error", True) and found_all(answer["text"]), answer)
    steps = [event["progress"] for event in progress if event["event"] == "progress"]
    check("progress comes before the answer", len(steps) >= 2, steps)
    check("progress rises strictly", all(a < b for a, b in zip(steps, steps[1:])), steps)

    *_, answer = driven.call("read", {"path": "../outside.txt"})
    refused = answer["event"] == "failed" or answer.get("error")
    check("a path outside the directory is refused", refused and "nobody may read" not in str(answer), answer)

    for tool, arguments in (("digest", {"path": "huge"}), ("search", {"text": "needle", "path": "huge"})):
        cancel(check, client, transport, driven, log, tool, arguments)

    since = time.monotonic()
    *_, answer = driven.call("search", {"text": "needle", "path": "huge", "timeout_ms": 200})
    took = time.monotonic() - since
    check("timeout_ms ends a search", answer["event"] in ("answer", "failed") and took < NOTICE, [answer, took])

    *_, answer = driven.call("read", {"path": "known/small/file-06.txt", "first_line": 7, "last_line": 7})
    fine = not answer.get("error", True) and "here is the needle of file 6" in answer["text"]
    return check("the next call on the connection is answered", fine, answer)


def cancel(check, client, transport, driven, log, tool, arguments):
    seen = driven.call(tool, arguments, REASON)
    at = next((event["at"] for event in seen if event["event"] == "cancelling"), None)
    stopped = at is not None and seen[-1]["event"] == "failed"
    if not check(f"{tool} is cancelled half way", stopped, seen[-3:]) or not client.cancels:
        return
    reason = log.cancelled(tool, at)
    check(f"the server notices that {tool} was cancelled", reason is not None, log.tail())
    # Over HTTP, 2026-07-28 cancels by closing the connection: no words.
    if client.gives_reason and not (transport == "http" and client.version == MODERN):
        check(f"{tool} is told why", reason is not None and REASON in reason, reason)


def finish(check, client, driven, log, http):
    seen = driven.order("close", "closed")
    closing = next((event["at"] for event in seen if event["event"] == "closing"), time.monotonic_ns())
    if http:
        check("closes", seen[-1]["event"] == "closed", seen)
        check("the server keeps serving", http.process.poll() is None and http.answers(), log.tail())
    else:
        # With calls abandoned, mcp 1.x raises over answers that arrive while it closes: its own affair.
        if client.cancels:
            check("closes", seen[-1]["event"] == "closed", seen)
        ended(check, log, closing)
    if not client.cancels:
        for tool in ("digest", "search"):
            reason = log.cancelled(tool, closing)
            check(f"the end of the session stops the abandoned {tool}", reason is not None, log.tail())
    if http:
        code = http.stop()
        check("SIGTERM ends the server", code == 0, f"exit code {code}")
    panics = [record["line"] for record in log.records() if "panicked at" in record.get("line", "")]
    check("nothing panicked", not panics, panics)


def ended(check, log, closing, codes=(0,)):
    """The server that was in use at the end left by itself; a process started as a probe only has to be gone."""
    record, _ = log.wait(lambda record: "exit" in record and record["at"] >= closing, END + 3)
    took = (record["at"] - closing) / 1e9 if record else None
    in_time = record and record["exit"] in codes and took <= END
    check(f"the server leaves at the end of input within {END} s", in_time, [record, took])
    signals = [r for r in log.records() if "signal" in r and record and r["spy"] == record["spy"]]
    check("no signal was needed", not signals, signals)


ERAS = {"legacy": LEGACY, "auto": MODERN, "modern": MODERN}


def inspect(check, era, transport, files, tree, work):
    """The inspector's command line: one process per call, no progress; interrupted, it just closes."""
    log = Spied(work / "server.log")
    http = None
    if transport == "http":
        http = HttpServer(files, tree, log.path)
        if not check("the server starts and names its address", http.url, log.tail()):
            http.stop()
            return
        entry = {"type": "streamable-http", "url": http.url}
    else:
        command, *args = spied(log.path, files, tree, "--stdio")
        entry = {"type": "stdio", "command": command, "args": args}
    config = work / "config.json"
    config.write_text(json.dumps({"mcpServers": {"files": entry}}))
    try:
        check_inspector(check, era, transport, config, log, work)
        if http:
            check("the server keeps serving", http.process.poll() is None and http.answers(), log.tail())
            code = http.stop()
            check("SIGTERM ends the server", code == 0, f"exit code {code}")
        panics = [record["line"] for record in log.records() if "panicked at" in record.get("line", "")]
        check("nothing panicked", not panics, panics)
    finally:
        if http:
            http.stop()


def check_inspector(check, era, transport, config, log, work):
    base = ["node", str(HERE / "node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js")]
    base += ["--config", str(config), "--server", "files", "--protocol-era", era, "--quiet"]
    # It keeps files in its user's home, and asks the desktop for a key store.
    environment = {**os.environ, "HOME": str(work), "MCP_INSPECTOR_SECRET_STORE": "memory"}

    def run(*args):
        with open(work / "client.log", "ab") as stderr:
            done = subprocess.run([*base, *args], env=environment, stdout=subprocess.PIPE, stderr=stderr, timeout=60)
        return done.returncode, done.stdout.decode()

    def call(tool, arguments):
        return ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))

    code, out = run("--method", "tools/list", "--strict")
    check("lists the tools and finds nothing wrong with their schemas", code == 0 and '"digest"' in out, [code, out])
    code, out = run(*call("search", {"text": "needle", "path": "known"}))
    check("search finds the needles", code == 0 and found_all(out), [code, out])
    stamped = "io.modelcontextprotocol/serverInfo" in out
    check(f"the answer is one of {ERAS[era]}", stamped == (ERAS[era] == MODERN), out)

    with open(work / "client.log", "ab") as stderr:
        process = subprocess.Popen(
            [*base, *call("digest", {"path": "huge"})], env=environment, stdout=subprocess.DEVNULL, stderr=stderr
        )
        # It prints nothing before the answer: wait until the server is seen to work on the call.
        log.busy(1.0, STEP / 2)
        running = process.poll() is None
        at = time.monotonic_ns()
        process.send_signal(signal.SIGINT)
        end(process)
    check("digest is interrupted half way", running, f"exit code {process.returncode}")
    reason = log.cancelled("digest", at)
    check("the server notices that digest was interrupted", reason is not None, log.tail())
    if transport == "stdio":
        # Its stdout has gone too, so a write may have failed before the end of input was seen.
        ended(check, log, at, codes=(0, 1))
    code, out = run(*call("read", {"path": "known/small/file-06.txt", "first_line": 7, "last_line": 7}))
    check("the next call is answered", code == 0 and "here is the needle of file 6" in out, [code, out])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", required=True, help="the example's binary")
    parser.add_argument("--venvs", required=True, help="where run.sh put the Python environments")
    parser.add_argument("--only", action="append", default=[], help="stories whose name holds this text")
    parser.add_argument("--list", action="store_true", help="print the names of the stories")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    args = parser.parse_args()

    stories = {}
    for client in clients(args.venvs):
        for transport in ("stdio", "http"):
            stories[f"{client.name} {client.mode} {transport}"] = (story, client, transport)
    for era in ERAS:
        for transport in ("stdio", "http"):
            stories[f"npm inspector 2 {era} {transport}"] = (inspect, era, transport)
    stories = {name: told for name, told in stories.items() if all(text in name for text in args.only)}
    if args.list:
        return print("\n".join(stories))
    if not stories:
        sys.exit("no story has such a name; --list prints them")

    check = Checks()
    work = Path(tempfile.mkdtemp(prefix="smol-mcp-interop-"))
    try:
        plant(work / "tree")
        for number, (name, (tell_it, who, transport)) in enumerate(stories.items()):
            check.label = name
            folder = work / f"{number:02}"
            folder.mkdir()
            failed, since = check.failed, time.monotonic()
            try:
                tell_it(check, who, transport, args.files, work / "tree", folder)
            except Exception as error:
                check("the story is told to its end", False, repr(error))
            if check.failed > failed:
                said = (folder / "client.log").read_text(errors="replace") if (folder / "client.log").exists() else ""
                print(f"      its client said: {said[-600:] or 'nothing'}")
                print(f"      its server said: {Spied(folder / 'server.log').tail()}")
            Spied(folder / "server.log").reap()
            print(f"      {name}: {time.monotonic() - since:.1f} s", flush=True)
    finally:
        if args.keep:
            print(f"logs: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{check.passed} passed, {check.failed} failed")
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
