"""What the tests of the examples use."""
