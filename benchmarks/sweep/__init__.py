"""Parts of bench_sweep.py: which functions there are, how each is called, and the page.

names ──► calls ──► (operands) measuring ──► results ──► page
"""
