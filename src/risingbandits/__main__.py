"""``python -m risingbandits`` is the command ``risingbandits``."""

from risingbandits.cli import main

if __name__ == "__main__":
    main()
