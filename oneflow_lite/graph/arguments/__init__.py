"""What traced functions get in the place of numbers, and of tensors over one memory."""
