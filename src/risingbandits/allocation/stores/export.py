"""What a store holds, as CSV and JSON for other programs. Equal stores give equal bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores.reader import StoreReader


def curves_csv(reader: StoreReader) -> str:
    """The learning curves: a header with the names of the arms that were pulled, one row per pull."""
    curves = _curves(reader)
    longest = max(len(rewards) for rewards in curves.values())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(read_back_names(list(curves)))
    for n in range(longest):
        row = [repr(rewards[n]) if n < len(rewards) else "" for rewards in curves.values()]
        # A row of one empty cell would be an empty line, but with one arm no cell is empty.
        writer.writerow(row)
    return text.getvalue()


def curves_json(reader: StoreReader) -> str:
    """Settings, what is spent, the recommended arm, and the rewards of every arm that was pulled."""
    ledger = reader.ledger()
    content = {
        "settings": ledger.settings.to_dict(),
        "spent": ledger.spent,
        "recommended": ledger.recommend(),
        "curves": _curves(reader),
    }
    return json.dumps(content, indent=1) + "\n"


def events_csv(reader: StoreReader) -> str:
    """Every event in one row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Event._fields)
    for event in reader.events():
        writer.writerow(["" if value is None else value for value in event])
    return text.getvalue()


def events_json(reader: StoreReader) -> str:
    """Every event as an object."""
    return json.dumps([event._asdict() for event in reader.events()], indent=1) + "\n"


def read_back_names(names: Sequence[str]) -> list[str]:
    """Names for a header: a row of numbers would be read as values, so then each starts with "arm".

    >>> read_back_names(["0.1", "0.01"]), read_back_names(["0.1", "best"])
    (['arm 0.1', 'arm 0.01'], ['0.1', 'best'])
    """
    if all("." in name and _is_number(name) for name in names):
        return [f"arm {name}" for name in names]
    return list(names)


def _curves(reader: StoreReader) -> dict[str, list[float]]:
    ledger = reader.ledger()
    curves = {arm.name: ledger.rewards(arm.name) for arm in ledger.arms if len(arm.rewards)}
    if not curves:
        raise RisingBanditsError("the store has no told pull yet, so there are no curves to export.")
    return curves


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
