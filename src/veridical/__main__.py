"""`python -m veridical` is `veridical`."""

from veridical.cli import main

if __name__ == "__main__":
    main()
