"""What ranks tell each other of an error."""

import traceback

from oneflow_lite import failures


def in_one_line(error: BaseException) -> str:
    """Return the error, with the last line of the program that it went through."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(failures.FOLDER)
    ]
    place = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{failures.summary(error)}{place}"
