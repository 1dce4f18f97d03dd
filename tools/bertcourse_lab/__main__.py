"""``python -m bertcourse_lab`` is ``bertcourse``; ``torchrun -m bertcourse_lab pretrain`` starts it many times."""

import sys

from bertcourse_lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
