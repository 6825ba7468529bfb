"""
The memory that one page takes, in a process that has done nothing else.

Run as a command it answers one request and prints, as JSON, the bytes that the
process held before it and the most that it held until its end.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from . import bench

_STATUS = Path("/proc/self/status")


def growth(database: str, path: str, *, cold: str = "", gzip: bool = False) -> float:
    """
    Return by how many bytes a process grows at most while it answers ``path``.

    The pages of the section ``cold`` are forgotten before, their bounds are not. The
    median of three fresh processes.
    """
    command = [sys.executable, "-m", "benchmarks.memory", "--database", database]
    command += ["--cold", cold] if cold else []
    command += ["--gzip"] if gzip else []
    grown = []
    for _ in range(3):
        done = subprocess.run(
            [*command, path], check=True, capture_output=True, text=True
        )
        sizes = json.loads(done.stdout)
        grown.append(sizes["peak"] - sizes["idle"])
    return float(median(grown))


def held() -> tuple[int, int]:
    """Return the bytes held now, and the most held so far."""
    if not _STATUS.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return peak, peak
    # ru_maxrss would do, but on Linux a process starts with its parent's.
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    now, peak = (int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def main() -> int:
    """Answer one request, and print what it took."""
    parser = bench.parser(__doc__, rounds=1)
    parser.add_argument(
        "--cold", default="", help="a section whose pages are forgotten first"
    )
    parser.add_argument("--gzip", action="store_true", help="accept gzip")
    parser.add_argument("path")
    options: argparse.Namespace = bench.start(parser)
    from . import site

    if options.cold:
        site.chill(options.cold)
    # One request, so that modules, patterns and the connection are there.
    site.page("/smallest/")
    gc.collect()
    idle, _ = held()
    site.page(options.path, **(site.GZIP if options.gzip else {}))
    _, peak = held()
    print(json.dumps({"idle": idle, "peak": peak}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
