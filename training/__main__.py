"""`make train`."""

from training.command import main

main()
