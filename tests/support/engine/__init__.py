"""Random programs of functions that are pushed, compared with a serial run.

``generator`` writes a program, ``functions`` are what it pushes, ``execution`` runs it in threads
and notes what it sees, and ``serial`` says what it should have seen. The command line:
``python -m tests.support.engine --seed 7 --programs 100000``.
"""
