"""``python -m sim [--sanitizer thread|address] [FOLDER]`` builds the libraries and prints where."""

import argparse

from sim.build import build


def main() -> None:
    """Build and say where."""
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--sanitizer", choices=("thread", "address"))
    arguments = parser.parse_args()
    print(build(arguments.directory, sanitizer=arguments.sanitizer))


if __name__ == "__main__":
    main()
