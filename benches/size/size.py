"""What the smallest programs weigh: bytes, crates, the time of a clean build, idle memory, threads. Prints Markdown."""
import argparse
import http.client
import json
import os
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
OURS, PEER = HERE, HERE.parent / "compare" / "rmcp-peer"
LIBRARY = HERE.parent.parent
TARGET = Path(os.environ["CARGO_TARGET_DIR"])

# Both sides are built like this where they are compared.
PLAIN = {"OPT_LEVEL": "3", "LTO": "thin", "CODEGEN_UNITS": "16", "STRIP": "true", "PANIC": "unwind"}
SMALL = {"OPT_LEVEL": "z", "LTO": "fat", "CODEGEN_UNITS": "1", "STRIP": "true", "PANIC": "unwind"}
SMALLEST = {**SMALL, "PANIC": "abort"}

# At most so much of the peer's bytes.
BOUNDS = {"stdio": 0.35, "http": 0.25}


def environment(profile):
    return {**os.environ, **{f"CARGO_PROFILE_RELEASE_{key}": value for key, value in profile.items()}}


def build(folder, program, features, profile, target=TARGET):
    """Builds one program and returns its path."""
    flags = ["--no-default-features", f"--features={features}", f"--bin={program}", f"--target-dir={target}"]
    command = ["cargo", "build", "--quiet", "--release", "--locked", f"--manifest-path={folder}/Cargo.toml", *flags]
    subprocess.run(command, env=environment(profile), check=True)
    return Path(target) / "release" / program


def size(folder, program, features, profile):
    return build(folder, program, features, profile).stat().st_size


def crates(folder, features):
    """Crates that the package of a folder is built from, itself included."""
    flags = ["--no-default-features", f"--features={features}", "--edges=normal", "--prefix=none", "--no-dedupe"]
    tree = subprocess.run(["cargo", "tree", "--quiet", "--locked", f"--manifest-path={folder}/Cargo.toml", *flags], capture_output=True, text=True, check=True)
    return len({" ".join(line.split()[:2]) for line in tree.stdout.splitlines() if line})


def clean_build(folder, program, features):
    """Seconds of processor time."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    with tempfile.TemporaryDirectory() as target:
        before = spent()
        build(folder, program, features, PLAIN, target)
        return spent() - before


LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "size", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


def post(address):
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    }
    connection.request("POST", "/mcp", json.dumps(LIST), headers)
    return connection.getresponse().read()


def idle(*command):
    """KiB of resident memory and threads, after a first answer."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        child.stdin.write(json.dumps(LIST).encode() + b"\n")
        child.stdin.flush()
        # A server over HTTP says where it listens before anything else; one over stdio says nothing there.
        said = select.select([child.stdout, child.stderr], [], [], 60)[0]
        if child.stderr in said:
            address = re.search(r"[\d.]+:\d+", child.stderr.readline().decode())[0]
            answer = post(address)
        else:
            answer = child.stdout.readline()
        if b'"result"' not in answer:
            sys.exit(f"unexpected: {answer.decode()}")
        # Whatever it does behind its first answer.
        time.sleep(0.5)
        status = dict(line.split(":", 1) for line in open(f"/proc/{child.pid}/status"))
        return int(status["VmRSS"].split()[0]), int(status["Threads"])
    finally:
        child.kill()
        child.wait()


def table(head, rows):
    print("\n| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def mb(count):
    return f"{count / 1e6:.2f} MB"


def compared():
    """The smallest server of either side, and whether ours is as small as it is to be."""
    failures = 0

    def rows():
        nonlocal failures
        for transport, program in (("stdio", "hello"), ("http", "http")):
            ours = size(OURS, program, transport, PLAIN)
            theirs = size(PEER, "rmcp-peer", "" if transport == "stdio" else "http", PLAIN)
            kept = ours <= BOUNDS[transport] * theirs
            failures += not kept
            yield [transport, mb(ours), mb(theirs), f"{ours / theirs:.3f}", f"{BOUNDS[transport]}" + ("" if kept else ", FAILED")]

    table(["smallest server, `opt-level = 3`, thin LTO, stripped", "ours", "peer", "ours/peer", "at most"], rows())
    return failures


def small():
    def rows():
        for name, profile in (("`size`", SMALL), ('`size`, `panic = "abort"`', SMALLEST)):
            sizes = [mb(size(OURS, program, transport, profile)) for transport, program in (("stdio", "hello"), ("http", "http"))]
            yield [name, *sizes]

    table(["profile", "`hello` (stdio)", "`http`"], rows())


SETS = [
    ("`stdio`", OURS, "stdio", "hello", []),
    ("`http`", OURS, "http", "http", []),
    ("`stdio`, `http`", OURS, "stdio,http", "http", []),
    ("`stdio`, `schemars`", OURS, "stdio,schemars", "hello", []),
    ("`stdio`, `validate`", OURS, "stdio,validate", "hello", []),
    ("`tide`", OURS, "tide", "tide_signal", ["127.0.0.1:0"]),
    ("peer, stdio", PEER, "", "rmcp-peer", ["stdio", "--pipes"]),
    ("peer, HTTP", PEER, "http", "rmcp-peer", ["http", "--json"]),
]


def by_features(clean):
    def rows():
        yield ["(none)", crates(LIBRARY, ""), "–", "–", "–", "–"]
        for name, folder, features, program, arguments in SETS:
            seconds = f"{clean_build(folder, program, features):.0f} s" if clean else "–"
            path = build(folder, program, features, PLAIN)
            memory, threads = idle(str(path), *arguments)
            # The peer's program, without itself: what it names besides the library and axum is in their trees, too.
            of = crates(LIBRARY, features) if folder == OURS else crates(PEER, features) - 1
            yield [name, of, mb(path.stat().st_size), seconds, mb(memory * 1024), threads]

    table(["features", "crates", "smallest program", "clean build, processor time", "idle memory", "threads"], rows())


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="only the sizes that have a bound")
    arguments.add_argument("--quick", action="store_true", help="without clean builds")
    options = arguments.parse_args()
    failures = compared()
    if not options.check:
        small()
        by_features(not options.quick)
    print(f"\n2 bounds, {failures} failed")
    sys.exit(failures > 0)


main()
