"""What runs in a slower way for lack of a kernel is said in the log."""

from oneflow_lite.flags import LOG


def tell(operation: str) -> None:
    """Log that an operation has no kernel."""
    LOG.warning(
        "[cuda] %s has no kernel for its operands and runs on the host, on copies: right, and slow",
        operation,
    )


def tell_failure(message: str) -> None:
    """Log that a fused kernel could not be made."""
    LOG.warning(
        "[cuda] a fused kernel could not be made, its operations run one by one: %s", message
    )
