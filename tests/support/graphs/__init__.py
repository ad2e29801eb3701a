"""Programs of integers for the analyses of oneflow_lite.graph, and checkers of what they find.

programs.py   random programs, run on a few elements of memory; checkers of order and of plans
networks.py   networks as programs, forward and backward
row_sums.py   sums of rows by index, beside numpy.add.at
"""
