"""What runs on the host for lack of a kernel is said, once for each operation."""

from oneflow_lite.flags import LOG


def tell(operation: str) -> None:
    """Log that an operation has no kernel."""
    LOG.warning(
        "[cuda] %s has no kernel for its operands and runs on the host, on copies: right, and slow",
        operation,
    )
