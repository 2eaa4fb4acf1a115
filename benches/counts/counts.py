"""Counts what one call costs a server: instructions, allocations, bytes allocated, system calls.

Every figure is the difference between 2N calls and N calls, divided by N, so that what is paid once drops out. Server and
client share one processor, which makes the order of events, and with it the system calls, nearly always the same. valgrind
counts an instruction that fills or copies a block once for each of its bytes.
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "counts", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# A server that does not answer within so many seconds is broken, under valgrind too.
PATIENCE = 60


def message(number, tool, arguments, token=None, modern=True):
    meta = dict(META) if modern else {}
    if token is not None:
        meta["progressToken"] = token
    params = {"name": tool, "arguments": arguments}
    if meta:
        params["_meta"] = meta
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}, separators=(",", ":")).encode()


def note(method, params):
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}, separators=(",", ":")).encode()


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "counts", "version": "0"}}


class Server:
    """A server as a child process, under `tool` if one is given."""

    def __init__(self, program, transport, tool=()):
        # Ids have the same number of digits in every run, and so has everything that holds one.
        self.number = 1_000_000
        self.child = subprocess.Popen([*tool, program, transport], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.address = None
        if transport == "http":
            line = self.child.stderr.readline().decode()
            host, port = line.removeprefix("LISTENING ").strip().rsplit(":", 1)
            self.address = (host, int(port))

    def next(self):
        self.number += 1
        return self.number

    def end(self):
        self.child.stdin.close()
        errors = self.child.stderr.read().decode()
        if self.child.wait(PATIENCE):
            sys.exit(f"the server ended with {self.child.returncode}: {errors}")


class Stdio:
    """The client of a server over its standard streams."""

    def __init__(self, server, modern=True):
        self.server, self.modern, self.buffer = server, modern, b""
        if not modern:
            request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            self.send(json.dumps(request).encode())
            self.receive(b'"result":')
            self.send(note("notifications/initialized", {}))

    def send(self, line):
        self.server.child.stdin.write(line + b"\n")

    def receive(self, *expected):
        """One line, which holds all of this."""
        while b"\n" not in self.buffer:
            piece = self.server.child.stdout.read(1 << 16)
            if not piece:
                sys.exit("the server has gone")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        for part in expected:
            if part not in line:
                sys.exit(f"unexpected: {line.decode()}, which lacks {part.decode()}")
        return line

    def call(self, tool, arguments, token=None):
        number = self.server.next()
        self.send(message(number, tool, arguments, token, self.modern))
        return b'"id":%d' % number

    def echo(self):
        self.receive(self.call("echo", {"text": "x" * 16}), b'"result":')

    def steps(self):
        answer = self.call("steps", {}, token=7)
        self.receive(b"notifications/progress")
        self.receive(answer, b'"result":')

    def cancelled(self):
        """A cancelled call has no answer; that of an echo tells that it is over."""
        self.call("slow", {}, token=7)
        self.receive(b"notifications/progress")
        self.send(note("notifications/cancelled", {"requestId": self.server.number}))
        self.echo()

    def batch(self):
        """64 calls in one write, all answers awaited: for one of them divide by 64."""
        numbers = [self.server.next() for _ in range(64)]
        lines = [message(number, "echo", {"text": "x" * 16}, None, self.modern) for number in numbers]
        self.send(b"\n".join(lines))
        for _ in numbers:
            self.receive(b'"result":')

    def counts(self):
        line = self.receive(self.call("counts", {}))
        return [int(figure) for figure in json.loads(line)["result"]["content"][0]["text"].split()]


class Http:
    """The client of a server over connections that are kept."""

    def __init__(self, server, modern=True):
        self.server, self.modern, self.session = server, modern, None
        self.socket = self.connect()
        if not modern:
            request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            self.socket.sendall(self.post(json.dumps(request).encode(), "initialize"))
            head, _ = self.response(self.socket)
            self.session = re.search(rb"(?i)mcp-session-id: *(\S+)", head)[1].decode()
            self.socket.sendall(self.post(note("notifications/initialized", {}), "notifications/initialized"))
            self.response(self.socket)

    def connect(self):
        connection = socket.create_connection(self.server.address, PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def post(self, body, method, name=None):
        head = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", "Accept: application/json, text/event-stream"]
        if self.session:
            head.append(f"Mcp-Session-Id: {self.session}")
        if method != "initialize":
            head.append("MCP-Protocol-Version: " + ("2026-07-28" if self.modern else "2025-11-25"))
        if self.modern:
            head.append(f"Mcp-Method: {method}")
            if name:
                head.append(f"Mcp-Name: {name}")
        head += [f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(head).encode() + body

    def response(self, connection, end=None):
        """A whole response; with `end`, as much as it takes to see that."""
        data = b""
        while True:
            head, found, body = data.partition(b"\r\n\r\n")
            if found:
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                whole = len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")
                if whole or (end and end in body):
                    if not head.startswith(b"HTTP/1.1 20"):
                        sys.exit(f"unexpected: {data.decode()}")
                    return head, body
            piece = connection.recv(1 << 16)
            if not piece:
                sys.exit(f"the server has closed after {data.decode()!r}")
            data += piece

    def call(self, connection, tool, arguments, token=None):
        number = self.server.next()
        connection.sendall(self.post(message(number, tool, arguments, token, self.modern), "tools/call", tool))

    def echo(self):
        self.call(self.socket, "echo", {"text": "x" * 16})
        self.response(self.socket)

    def steps(self):
        self.call(self.socket, "steps", {}, token=7)
        head, body = self.response(self.socket)
        if b"text/event-stream" not in head or body.count(b"data:") != 2:
            sys.exit(f"no stream: {head.decode()} {body.decode()}")

    def cancelled(self):
        """A call on a connection of its own, which is closed while its handler waits, and an echo on another one."""
        connection = self.connect()
        self.call(connection, "slow", {}, token=7)
        self.response(connection, end=b"notifications/progress")
        connection.close()
        self.echo()

    def counts(self):
        self.call(self.socket, "counts", {})
        body = json.loads(self.response(self.socket)[1])
        return [int(figure) for figure in body["result"]["content"][0]["text"].split()]


class Row:
    def __init__(self, name, transport, what, modern=True, calls=400, each=1, steady=True):
        self.name, self.transport, self.what, self.modern = name, transport, what, modern
        # How often it is done, of how many calls it consists, and whether it takes as many system calls each time.
        self.calls, self.each, self.steady = calls, each, steady

    def drive(self, program, portions, tool=()):
        """Runs a server through portions of so many calls, and returns what it has allocated before, between and after."""
        server = Server(program, self.transport, tool)
        client = (Stdio if self.transport == "stdio" else Http)(server, self.modern)
        # What grows with use has grown after some calls.
        for _ in range(50):
            getattr(client, self.what)()
        marks = [client.counts()]
        for count in portions:
            for _ in range(count):
                getattr(client, self.what)()
            marks.append(client.counts())
        server.end()
        return marks

    def allocations(self, program):
        """Allocations and bytes of a call."""
        marks = self.drive(program, [self.calls, 2 * self.calls])
        return [((c - b) - (b - a)) / self.calls / self.each for a, b, c in zip(*marks)]

    def difference(self, program, calls, tool, total, runs=1):
        """What `total` tells after twice as many calls, less what it tells after so many; the median of some runs of each."""
        few, many = (statistics.median(self.under(program, count, tool, total) for _ in range(runs)) for count in (calls, 2 * calls))
        return (many - few) / calls / self.each

    def under(self, program, count, tool, total):
        with tempfile.NamedTemporaryFile("r") as file:
            self.drive(program, [count], [part.format(file=file.name) for part in tool])
            return total(open(file.name).read())

    def measure(self, program):
        figures = {"instructions": self.difference(program, self.calls // 2, CALLGRIND, instructions)}
        figures["allocations"], figures["bytes"] = self.allocations(program)
        if self.steady:
            figures["syscalls"] = self.difference(program, self.calls * 4, STRACE, syscalls, runs=3)
        return figures


def instructions(text):
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])


def syscalls(text):
    return int(re.search(r"(\d+)(?: +\d+)? total$", text.strip())[1])


STRACE = ["strace", "--follow-forks", "--summary-only", "--output={file}"]
CALLGRIND = ["valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file={file}"]

ROWS = [
    Row("stdio, one call at a time", "stdio", "echo"),
    Row("stdio, 64 calls in one write", "stdio", "batch", calls=20, each=64),
    Row("stdio, legacy, one call at a time", "stdio", "echo", modern=False),
    Row("stdio, a call with one report of progress", "stdio", "steps"),
    Row("stdio, a call that is cancelled, and an echo", "stdio", "cancelled"),
    Row("HTTP, one call at a time, JSON", "http", "echo"),
    Row("HTTP, legacy session, one call at a time, JSON", "http", "echo", modern=False),
    Row("HTTP, a call with one report of progress, SSE", "http", "steps"),
    Row("HTTP, connection, call, hang-up, and an echo", "http", "cancelled", calls=200, steady=False),
]

# A figure may exceed its table by a share of it and by a constant. One allocation or system call more in each call is more
# than that; one more in some calls is the scheduler's doing. Instructions depend a little on the system's libraries.
ALLOWED = {"instructions": (0.10, 0), "allocations": (0, 0.5), "bytes": (0.05, 0), "syscalls": (0, 0.5)}
# Where threads take turns by chance, so much of the instructions is chance.
UNSTEADY = 0.25
TRIES = 2
WIDTH = max(len(row.name) for row in ROWS)


def line(name, figures):
    calls = f"{figures['syscalls']:.1f}" if "syscalls" in figures else "-"
    return f"{name:{WIDTH}}  {figures['instructions']:12.0f} {figures['allocations']:11.1f} {figures['bytes']:9.0f} {calls:>9}"


def read(path):
    rows = {}
    for text in open(path):
        found = re.fullmatch(r"(\S.*?)  +(\d+) +([\d.]+) +(\d+) +([\d.]+|-)\n", text)
        if found:
            figures = zip(ALLOWED, found.groups()[1:])
            rows[found[1]] = {figure: float(value) for figure, value in figures if value != "-"}
    return rows


def excesses(row, figures, was):
    """The figures that are more than they were, and than is allowed."""
    for figure, (share, constant) in ALLOWED.items():
        if not row.steady and figure == "instructions":
            share = UNSTEADY
        if figure in figures and figures[figure] - was[figure] > was[figure] * share + constant:
            yield figure


def tell(figure, figures, was):
    return f"{figure} {figures[figure]:.1f}, {figures[figure] / was[figure]:.2f} of the table's {was[figure]:.1f}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program")
    arguments.add_argument("table")
    arguments.add_argument("--update", action="store_true", help="write the table instead of comparing with it")
    arguments.add_argument("--only", default="", help="only rows whose name holds this text")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = [row for row in ROWS if options.only in row.name]
    committed = {} if options.update else read(options.table)
    head = f"{'per call':{WIDTH}}  {'instructions':>12} {'allocations':>11} {'bytes':>9} {'syscalls':>9}"
    lines, failures, smaller = [head], 0, 0
    print(head, flush=True)
    for row in rows:
        figures, was = row.measure(options.program), committed.get(row.name)
        if options.update:
            again = [figures, *(row.measure(options.program) for _ in range(TRIES))]
            figures = {figure: statistics.median(one[figure] for one in again) for figure in figures}
        # What looks like more may be a busy machine's doing: it has to be so again and again.
        for _ in range(TRIES if was and any(excesses(row, figures, was)) else 0):
            figures = {figure: min(value, figures[figure]) for figure, value in row.measure(options.program).items()}
        lines.append(line(row.name, figures))
        print(lines[-1], flush=True)
        if options.update:
            continue
        if was is None:
            failures += 1
            print("    FAILED: not in the table; run with --update")
            continue
        for figure in excesses(row, figures, was):
            failures += 1
            print(f"    FAILED: {tell(figure, figures, was)}")
        for figure in excesses(row, was, figures):
            smaller += 1
            print(f"    better: {tell(figure, figures, was)}")
        print(f"    {figures['instructions'] / was['instructions']:.3f} of the table's instructions", flush=True)
    if options.update:
        with open(options.table, "w") as table:
            table.write("\n".join(lines) + "\n")
    if smaller:
        print("the table is out of date: run with --update to keep what has been won")
    print(f"{len(rows)} rows, {failures} failed")
    sys.exit(failures > 0)


main()
