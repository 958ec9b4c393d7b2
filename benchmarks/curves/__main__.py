"""Make the files of real curves from their public sources, or list them: ``python benchmarks/curves [BENCHMARK]``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from curves.sources import CONVERTERS, rebuild, sources_table
from risingbandits._core.errors import RisingBanditsError


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("benchmark", nargs="?", choices=list(CONVERTERS), help="build the files of this benchmark")
    parser.add_argument("--source", type=Path, help="database-accuracy.csv (lcdb), or a folder of the repository")
    parser.add_argument("--out", type=Path, help="folder of the files; default: curves/ in RISINGBANDITS_DATA")
    given = parser.parse_args()
    out = given.out or Path(os.environ.get("RISINGBANDITS_DATA", ".")) / "curves"
    try:
        if given.benchmark is None:
            print(sources_table(out).plain())
        else:
            for name, state in rebuild(given.benchmark, out, given.source).items():
                print(f"{out / name}: {state}")
    except RisingBanditsError as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
