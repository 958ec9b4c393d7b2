"""Ray, if it is installed: the connection to a cluster. The only place that starts or leaves one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from risingbandits._core.errors import RisingBanditsError, missing, shown

_USAGE = "RAY_USAGE_STATS_ENABLED"


def import_ray(purpose: str, extra: str = "ray") -> ModuleType:
    """Ray, or one sentence about how to get it."""
    try:
        import ray
    except ImportError:
        raise missing("Ray", purpose, extra) from None
    return ray


@contextmanager
def connected(purpose: str) -> Iterator[ModuleType]:
    """Ray, connected for the duration of the context.

    A connection that the program has made before is used and left alone. Otherwise one is made, and closed with the
    context: to the cluster that RAY_ADDRESS names ("auto": the one that this machine belongs to), or to a new Ray here.
    """
    ray = import_ray(purpose)
    if ray.is_initialized():
        yield ray
        return
    own = not os.environ.get("RAY_ADDRESS")
    with _no_usage_report():
        try:
            # What workers print stays in Ray's log files: bars and tables share the terminal.
            ray.init(
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({"include_dashboard": False} if own else {}),
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = "on this machine" if own else f"at address {shown(os.environ.get('RAY_ADDRESS'))}"
            reason = " ".join(str(error).split())
            raise RisingBanditsError(f"no Ray could be reached {where}: {reason.rstrip('.')}.") from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _no_usage_report() -> Iterator[None]:
    """A Ray that is started here sends no usage statistics, unless the user has said otherwise."""
    if _USAGE in os.environ:
        yield
        return
    os.environ[_USAGE] = "0"
    try:
        yield
    finally:
        os.environ.pop(_USAGE, None)
