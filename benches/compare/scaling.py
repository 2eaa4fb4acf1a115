#!/usr/bin/env python3
"""Measure what a call costs two MCP servers while more and more others wait; print a table and draw scaling.svg.

Processor time of a call that is answered while n others wait, processor time of a waiting call from its begin to its
cancellation, and resident memory of a waiting call. Over stdio all share one pipe, over HTTP each has a connection.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

ap = argparse.ArgumentParser(description=__doc__)
ap.add_argument("--loadgen", required=True)
for side in "ab":
    ap.add_argument(f"--{side}-stdio")
    ap.add_argument(f"--{side}-http")
ap.add_argument("--calls", default="1,10,100,1000,10000,100000", help="over stdio")
ap.add_argument("--connections", default="1,10,100,1000,10000", help="over HTTP")
ap.add_argument("--rounds", type=int, default=3)
ap.add_argument("--names", default="ours,peer")
ap.add_argument("--svg", default=Path(__file__).parent / "scaling.svg")
args = ap.parse_args()

FIGURES = {
    "meanwhile_us_per_call": "µs of processor time, answered call",
    "waiting_us_per_call": "µs of processor time, waiting call",
    "bytes_per_call": "bytes, waiting call",
}
# Fewer calls than that are less than the pages that memory is given out in.
FEWEST_FOR_BYTES = 100
NAMES = dict(zip("ab", args.names.split(",")))


def measure(transport, server, count):
    command = [args.loadgen, "scale", "--transport", transport, "--connections", str(count), "--seconds", "600", "--samples", "2000"]
    pinned = ["--server-cpu", "0", "--client-cpu", "1", "--runs", str(args.rounds), "--server-cmd", server]
    out = subprocess.run(command + pinned, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{transport}, {count} waiting, {server!r}: exit {out.returncode}\n{out.stderr[-800:]}")
    runs = json.loads(out.stdout.strip().splitlines()[-1])["runs"]
    if any(run["threads"] != run["idle_threads"] for run in runs):
        print(f"threads when idle and when busy: {[(run['idle_threads'], run['threads']) for run in runs]}")
    return {figure: statistics.median(run[figure] for run in runs) for figure in FIGURES} | {"threads": runs[0]["threads"]}


def curves():
    """For each server and transport the figures by number of waiting calls."""
    found = {}
    print(f"{'server':8} {'':6} {'waiting':>8} {'answered µs':>12} {'waiting µs':>12} {'bytes':>8} {'threads':>8}")
    for transport, counts in (("stdio", args.calls), ("http", args.connections)):
        for side, name in NAMES.items():
            server = getattr(args, f"{side}_{transport}")
            if not server:
                continue
            curve = found[name, transport] = {}
            for count in map(int, counts.split(",")):
                got = curve[count] = measure(transport, server, count)
                size = f"{got['bytes_per_call']:8.0f}" if count >= FEWEST_FOR_BYTES else f"{'':8}"
                print(f"{name:8} {transport:6} {count:8} {got['meanwhile_us_per_call']:12.1f} {got['waiting_us_per_call']:12.1f} {size} {got['threads']:8}", flush=True)
    return found


WIDTH, HEIGHT, GAP, TOP = 260, 200, 70, 48
COLOURS = {"stdio": "#2a78b5", "http": "#c2571a"}


def panel(at, title, points):
    """One diagram: `points` by (server, transport), counts on a logarithmic scale."""
    left = GAP + at * (WIDTH + GAP)
    most = max((value for curve in points.values() for value in curve.values()), default=1)
    step = 10 ** math.floor(math.log10(most))
    step = next(step * part for part in (0.2, 0.5, 1, 2) if most / (step * part) <= 6)
    top = math.ceil(most / step) * step
    widest = max(count for curve in points.values() for count in curve)

    def x(count):
        return left + WIDTH * math.log10(count) / math.log10(widest)

    def y(value):
        return TOP + HEIGHT * (1 - value / top)

    yield f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>'
    for line in range(round(top / step) + 1):
        value = line * step
        yield f'<path d="M{left} {y(value):.1f}h{WIDTH}" stroke="#8884" fill="none"/>'
        yield f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
    for power in range(round(math.log10(widest)) + 1):
        yield f'<text x="{x(10**power):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{10**power:,}</text>'
    for (name, transport), curve in points.items():
        if not curve:
            continue
        way = " ".join(f"{x(count):.1f},{y(value):.1f}" for count, value in curve.items())
        dashes = ' stroke-dasharray="5 4"' if name != NAMES["a"] else ""
        yield f'<polyline points="{way}" fill="none" stroke="{COLOURS[transport]}" stroke-width="2"{dashes}/>'


def draw(found):
    width, height = 3 * (WIDTH + GAP) + 30, TOP + HEIGHT + 64
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#666">']
    parts.append(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    for at, (figure, title) in enumerate(FIGURES.items()):
        least = FEWEST_FOR_BYTES if figure == "bytes_per_call" else 1
        points = {key: {count: got[figure] for count, got in curve.items() if count >= least} for key, curve in found.items()}
        parts += panel(at, title, points)
    at = GAP
    for name, transport in found:
        dashes = ' stroke-dasharray="5 4"' if name != NAMES["a"] else ""
        label = f"{name}, {'stdio' if transport == 'stdio' else 'HTTP'}"
        parts.append(f'<path d="M{at} {height - 14}h28" stroke="{COLOURS[transport]}" stroke-width="2"{dashes}/>')
        parts.append(f'<text x="{at + 34}" y="{height - 10}">{label}</text>')
        at += 130
    parts.append(f'<text x="{width - 30}" y="{height - 10}" text-anchor="end">calls that wait meanwhile</text>')
    Path(args.svg).write_text("\n".join(parts) + "\n</svg>\n")
    print(f"wrote {args.svg}")


draw(curves())
