"""What the machine did, and when."""

from oneflow_lite.profiler.trace import Profile, profile, start_file, write_file

__all__ = ["Profile", "profile", "start_file", "write_file"]
