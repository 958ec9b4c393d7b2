"""When the lines of an arm are drawn, and from which windows of its past: both depend only on its number of pulls.

So the lines that can fail can be counted; `risingbandits.theory` counts them with the same functions.
"""

from __future__ import annotations

from risingbandits._core.jit import kernel, plain

WINDOW_RATIO = 0.7
SMALLEST_WINDOW = 0.1
_MANY = 200  # pulls from which on there are seven windows


@kernel
def next_point(n: int, growth: float) -> int:
    """The grid point after n."""
    return max(n + 1, int(growth * n))


@kernel
def next_window(w: int) -> int:
    """The window after one of w pulls."""
    return min(w - 1, int(WINDOW_RATIO * w))


@kernel
def count_lines(horizon: int, growth: float) -> tuple[int, int, int]:
    """How many grid points there are up to ``horizon``, anchored lines on them, and two-block lines.

    >>> count_lines(200_000, 1.05)
    (219, 1441, 1413)
    """
    points = anchored = two_block = 0
    n = 1
    while n <= horizon:
        points += 1
        w = n if n < _MANY else 0
        while n > 1 and w >= 1 and w >= SMALLEST_WINDOW * n:
            anchored += 1
            two_block += 1 if w >= 3 else 0
            w = next_window(w)
        if n >= _MANY:  # 0.7^6 n is above n / 10, 0.7^7 n below, rounding or not
            anchored += 7
            two_block += 7
        n = next_point(n, growth)
    return points, anchored, two_block


def commit_grid(horizon: int, growth: float = 1.05) -> list[int]:
    """The numbers of pulls, up to ``horizon``, after which lines are drawn.

    >>> commit_grid(25)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
    >>> len(commit_grid(200_000))
    219
    """
    points = [1]
    after = plain(next_point)  # a few numbers are not worth compiling
    while (following := after(points[-1], growth)) <= horizon:
        points.append(following)
    return points


def commit_windows(n: int) -> list[int]:
    """The windows, as numbers of the last pulls, from which lines are drawn after n pulls.

    >>> commit_windows(100)
    [100, 70, 49, 34, 23, 16, 11]
    """
    windows = []
    w = n
    while w >= 1 and w >= SMALLEST_WINDOW * n:
        windows.append(w)
        w = next_window(w)
    return windows
