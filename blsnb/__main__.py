"""``python -m blsnb``: the command, if its script is not on PATH."""

import sys

from blsnb.command import main

if __name__ == "__main__":
    sys.exit(main())
