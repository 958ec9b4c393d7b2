"""How long it takes to read logs: runs as a wide CSV file, a long one, a CSV file for each, TensorBoard's event files.

``python benchmarks/import_logs.py`` writes 10,000 runs of 1,000 steps to a temporary folder, one form after another,
and reads each in a process of its own, so that the memory shown is that of reading it. Seconds of the processor are
those of a machine without other work; with ``--write`` the curves are written to a CSV file, too.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from risingbandits.logs._event_files import masked_checksum

READER = """
import resource, sys, time
from pathlib import Path
from risingbandits.logs import curves_of, read_runs
from risingbandits.logs.curves import write_csv
start, cpu = time.perf_counter(), time.process_time()
curves = curves_of(read_runs(sys.argv[1]), sys.argv[3] or None, "maximize")
if sys.argv[2]:
    write_csv(curves, Path(sys.argv[2]))
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
values = sum(map(len, curves.values.values()))
print(f"{len(curves.values):,} runs, {values:,} values: {seconds:.1f} s ({cpu:.1f} of the processor), {peak:.2f} GiB")
"""


def wide(folder: Path, values: np.ndarray) -> None:
    with (folder / "curves.csv").open("w") as file:
        file.write(",".join(f"run {number}" for number in range(len(values))) + "\n")
        for row in values.T:
            file.write(",".join(map("%.6f".__mod__, row.tolist())) + "\n")


def long(folder: Path, values: np.ndarray) -> None:
    with (folder / "history.csv").open("w") as file:
        file.write("run,step,acc\n")
        for number, row in enumerate(values):
            file.write(
                "".join(f"run {number},{step},{value:.6f}\n" for step, value in enumerate(row.tolist(), start=1))
            )


def folder_of_csv(folder: Path, values: np.ndarray) -> None:
    for number, row in enumerate(values):
        lines = (f"{step},{1 - value:.6f},{value:.6f}\n" for step, value in enumerate(row.tolist(), start=1))
        (folder / f"run {number}.csv").write_text("epoch,loss,acc\n" + "".join(lines))


def event_files(folder: Path, values: np.ndarray) -> None:
    """As TensorBoard's writers do: a record of the version, then one for each value."""
    for number, row in enumerate(values):
        (folder / f"run {number}").mkdir()
        records = [_record(b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2")]
        for step, value in enumerate(row.tolist(), start=1):
            content = b"\x0a\x03acc\x15" + struct.pack("<f", value)
            summary = b"\x0a" + bytes([len(content)]) + content
            event = b"\x09" + struct.pack("<d", 1.7e9 + step) + b"\x10" + _varint(step)
            records.append(_record(event + b"\x2a" + bytes([len(summary)]) + summary))
        (folder / f"run {number}" / "events.out.tfevents.1").write_bytes(b"".join(records))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked_checksum(length)) + message + struct.pack("<I", masked_checksum(message))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--forms", default="wide,long,folder_of_csv,event_files")
    parser.add_argument("--write", action="store_true", help="write the curves to a CSV file as well")
    parser.add_argument("--quick", action="store_true", help="few and short runs")
    given = parser.parse_args()
    runs, steps = (20, 30) if given.quick else (given.runs, given.steps)
    values = np.random.default_rng(0).random((runs, steps))
    writers = {"wide": wide, "long": long, "folder_of_csv": folder_of_csv, "event_files": event_files}
    for form in given.forms.split(","):
        with TemporaryDirectory() as folder, TemporaryDirectory() as out:
            writers[form](Path(folder), values)
            metric = "acc" if form == "folder_of_csv" else ""  # the others have just one
            target = str(Path(out) / "curves.csv") if given.write else ""
            command = [sys.executable, "-c", READER, folder, target, metric]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            print(f"{form}: {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
