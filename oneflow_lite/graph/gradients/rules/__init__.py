"""Rules: the gradients of the operands of an operation, of that of its result."""
