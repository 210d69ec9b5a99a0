"""``python -m blsnb``: the command, also where its script is not on the path."""

import sys

from blsnb.command import main

if __name__ == "__main__":
    sys.exit(main())
