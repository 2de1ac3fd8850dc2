"""`make measure-real`."""

from training.real.command import main

if __name__ == "__main__":
    main()
