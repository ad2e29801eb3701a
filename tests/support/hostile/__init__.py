"""A program that calls every public function with arguments that work against it."""
