"""``python -m bertcourse`` is ``bertcourse``; ``torchrun -m bertcourse pretrain`` starts it many times."""

import sys

from bertcourse.cli import main

if __name__ == "__main__":
    sys.exit(main())
