"""What ranks tell each other of an error."""

import os
import traceback

from oneflow_lite import _C, failures


def in_one_line(error: BaseException) -> str:
    """Return the error, with the last line of the program that it went through."""
    package = os.path.dirname(_C.__file__)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(package)
    ]
    place = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{failures.summary(error)}{place}"
