"""`make heal-real`."""

from training.heal.command import main

main()
