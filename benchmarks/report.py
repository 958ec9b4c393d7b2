"""Reports and the live view: size, time to open, and whether the view keeps up with 1,000 tells a second.

Run it on a machine that does nothing else: ``python benchmarks/report.py``. It needs Chromium and Playwright.

1. A report of 9 policies, 100 runs and 20,000 rounds: its size beyond Plotly's script, and the time from the address to
   the first screen drawn and to everything drawn, the median of 5 after a warm-up.
2. A process tells 1,000 rewards a second for 20 s; beside it a browser shows the live page. Every 50 ms the number of
   told pulls on the page is compared with what the writer had told: the lag is the age of the first tell not shown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits import simulate
from risingbandits.problems import get_problem
from risingbandits.reports.pages import write_html
from risingbandits.reports.pages.layout import plotly_script
from risingbandits.reports.study import Study

POLICIES = ("commit-ucb", "red-ucb", "kl-ucb", "sw-ucb", "sw-kl-ucb", "sw-ts", "rexp3", "ser4", "round-robin")
WRITER = """
import sys, time
from risingbandits.allocation.allocator import Allocator
store, rate, seconds, log = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
pulls = int(rate * seconds)
with Allocator([f"arm {i}" for i in range(8)], budget=pulls + 1, store=store) as allocator, open(log, "w") as file:
    allocator.tell(allocator.ask(), 0.1)  # compiles, and makes the store
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.time()
    for number in range(pulls):
        while (ahead := begun + number / rate - time.time()) > 0:
            time.sleep(min(ahead, 0.002))
        pull = allocator.ask()
        allocator.tell(pull, (1 - 0.99 ** pull.n) * (0.3 + 0.05 * int(pull.arm[-1])))
        file.write(f"{time.time()!r}\\n")
"""


def launch(driver: Any) -> Any:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])


def opening(folder: Path, runs: int) -> None:
    """Size and time to open of the report of a study."""
    from playwright.sync_api import sync_playwright

    instance = get_problem("paper-15arms")
    result = simulate(list(POLICIES), instance, horizon=20_000, runs=runs)
    Study(instance, result).save(folder / "study", "benchmarks/report.py")
    page = write_html(folder / "study", folder / "report.html")
    beyond = page.stat().st_size - len(plotly_script().encode())
    print(f"report beyond Plotly's script   {beyond / 1e6:8.3f} MB   (bar: 1 MB)")
    ready, drawn = [], []
    with sync_playwright() as driver:
        browser = launch(driver)
        for _ in range(6):
            context = browser.new_context(viewport={"width": 1200, "height": 900})
            tab = context.new_page()
            begun = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_selector("body[data-ready=true]", state="attached")
            ready.append(time.perf_counter() - begun)
            tab.wait_for_selector("body[data-drawn=true]", state="attached")
            drawn.append(time.perf_counter() - begun)
            context.close()
        browser.close()
    for what, times in (("first screen drawn", ready[1:]), ("all figures drawn", drawn[1:])):
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{what:31} {statistics.median(times):8.2f} s    (bar: 2 s; {spread})")


def following(folder: Path, rate: float, seconds: float) -> None:
    """How far the live page lags behind a writer."""
    from playwright.sync_api import sync_playwright

    store, log = folder / "run.db", folder / "told.txt"
    command = [sys.executable, "-c", WRITER, str(store), str(rate), str(seconds), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        watch = [sys.executable, "-m", "risingbandits", "status", "--live", str(store)]
        with subprocess.Popen(watch, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
            assert server.stdout is not None
            address = server.stdout.readline().split()[2]
            browser = launch(driver)
            tab = browser.new_page()
            tab.goto(address)
            tab.wait_for_selector("#connection[data-state=live]")
            writer.stdin.write("go\n")
            writer.stdin.flush()
            seen = []
            while writer.poll() is None:
                shown = tab.evaluate("document.querySelectorAll('#counts dd')[0].textContent")
                seen.append((time.time(), int(shown.replace(",", ""))))
                time.sleep(0.05)
            ended = time.time()
            last = f"{int(rate * seconds) + 1:,}"
            tab.locator("#counts dd").nth(0).filter(has_text=last).wait_for()
            caught_up = time.time() - ended
            browser.close()
            server.terminate()
    told = np.array([float(line) for line in log.read_text().split()])
    lags = []
    for now, shown in seen:
        count = shown - 1  # the writer's first tell came before the log
        if count < told.size and told[count] <= now:  # the first tell that is not shown yet
            lags.append(now - told[count])
    reached = told.size / (told[-1] - told[0])
    print(f"tells a second                  {reached:8.0f}      (asked for: {rate:.0f}, for {seconds:.0f} s)")
    print(f"lag of the live page, median    {np.median(lags):8.2f} s")
    print(f"lag of the live page, most      {max(lags):8.2f} s    (bar: 1 s)")
    print(f"lag after the last tell         {caught_up:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 runs and 2 s: only to see it work")
    parser.add_argument("--rate", type=float, default=1000.0, help="tells a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        opening(Path(folder), runs=2 if arguments.quick else 100)
        following(Path(folder), arguments.rate, 2.0 if arguments.quick else arguments.seconds)


if __name__ == "__main__":
    main()
