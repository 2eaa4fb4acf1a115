#!/usr/bin/env python3
"""Put listeners side by side: requests a second, and how long until a handler learns that its client hung up.

Prints one line for each case, with a column for each server: medians over the rounds, in which the servers take turns.
"""
import argparse
import json
import statistics
import subprocess
import sys

ap = argparse.ArgumentParser(description=__doc__)
ap.add_argument("--loadgen", required=True)
ap.add_argument("--server", action="append", nargs=3, metavar=("NAME", "json|streams|both", "COMMAND"), required=True)
ap.add_argument("--parts", default="rate,hang-up")
ap.add_argument("--rounds", type=int, default=3)
ap.add_argument("--duration", default="2")
ap.add_argument("--samples", default="1000")
ap.add_argument("--json", help="also write every raw result to this file, one object a line")
args = ap.parse_args()

PIN = ["--transport", "http", "--server-cpu", "0", "--client-cpu", "1", "--runs", "1", "--max-tries", "1", "--spin", "yes"]
RATE = ["roundtrip", *PIN, "--warmup-s", "0.5", "--duration-s", args.duration]
HANG_UP = ["cancel", *PIN, "--samples", args.samples, "--settle-us", "300", "--seconds", "1"]
JSON = ["--accept", "application/json"]
PIPELINED = ["--pipelined", "1"]

# A name, the command, and what is told of it.
CASES = [
    *(("rate", f"connections: {n}", [*RATE, "--connections", n], ("rps", "server_cpu_us_per_call", "p50_us", "p99_us")) for n in ("1", "16", "64")),
    *(
        ("hang-up", f"{name}, {how}", [*HANG_UP, *flags, "--close", how], ("p50_us", "p99_us"))
        for name, flags in (
            ("JSON", JSON),
            ("stream, before the head", []),
            ("stream, after the head", ["--after", "head"]),
            ("JSON, a request behind", [*JSON, *PIPELINED]),
            ("stream, a request behind", ["--after", "head", *PIPELINED]),
        )
        for how in ("fin", "rst")
    ),
]


def fit(command, modes, server):
    """The command for a server, or None where there is no such thing."""
    if command[0] == "roundtrip":
        return command
    if command[-1] == "rst" and server.endswith(" unix"):
        return None
    wants_json = JSON[1] in command
    if modes == "json":
        # Such a server answers by JSON although streams are accepted, and may want them to be.
        return [word for word in command if word not in JSON] if wants_json else None
    return None if modes == "streams" and wants_json else command


def measure(command, server):
    """One result, or None where the server does not do that."""
    out = subprocess.run([args.loadgen, *command, "--server-cmd", server], capture_output=True, text=True)
    if out.returncode:
        print(f"  {server}: {out.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(out.stdout.strip().splitlines()[-1])


def cell(results, figure):
    results = [result for result in results if result]
    if not results:
        return "-"
    if all(result.get("missed", 0) > 0 and not result[figure] for result in results):
        return "never"
    missed = sum(result.get("missed", 0) for result in results)
    return f"{statistics.median(result[figure] for result in results):.1f}" + ("!" if missed else "")


raw = open(args.json, "a") if args.json else None
names = [name for name, _, _ in args.server]
print(f"{'case':32} {'figure':24}" + "".join(f"{name:>16}" for name in names))
for part, name, command, figures in CASES:
    if part not in args.parts.split(","):
        continue
    got = {name: [] for name in names}
    for _ in range(args.rounds):
        for server, modes, line in args.server:
            fitting = fit(command, modes, line)
            result = measure(fitting, line) if fitting else None
            got[server].append(result)
            if raw and result:
                raw.write(json.dumps({"case": name, "server": server, **result}) + "\n")
    for figure in figures:
        print(f"{name:32} {figure:24}" + "".join(f"{cell(got[name], figure):>16}" for name in names), flush=True)
