"""What the machine did, and when."""

from oneflow_lite.profiler.merging import merge
from oneflow_lite.profiler.trace import Profile, profile, start_file, write_file

__all__ = ["Profile", "merge", "profile", "start_file", "write_file"]
