"""Write the generated part of docs/policies.md, or with --check only say whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from risingbandits.reports.tables import policies_table

_BEGIN, _END = "<!-- written by make docs -->\n", "<!-- end -->\n"


def with_current_table(text: str) -> str:
    """The page with the table of the registered policies between its two marks."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{policies_table().markdown()}\n{_END}{after}"


def main() -> int:
    """Return the exit code."""
    page = Path(__file__).parent / "policies.md"
    old = page.read_text()
    new = with_current_table(old)
    if "--check" in sys.argv[1:]:
        print("docs/policies.md is current." if new == old else "docs/policies.md is old: run make docs.")
        return int(new != old)
    page.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
