"""What the tests of tensors over many ranks use."""
