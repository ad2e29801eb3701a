"""What tests use and is no test: oracles and bounds, helpers, and the programs that tests start.

Tests and programs import it as ``tests.support``; a program has a command line of its own:
``python -m tests.support.random_program --seed 7``.
"""

import os
import platform
from pathlib import Path

ROOT = Path(__file__).parents[2]  # of the checkout
ON_X86 = platform.machine() in ("x86_64", "AMD64")
# The extension is instrumented; the runtime of its sanitizer was loaded first.
IS_SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")
