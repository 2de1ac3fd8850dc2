"""The protocol of a store of class rooms: one is in the process, one is shared by processes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kvcount.refusals import RefusedError
from ui.classroom.codes import Lead

MOST_FOLLOWERS = 2000  # of a room, who are present
PRESENT_SECONDS = 40.0  # a follower who was not heard of for so long has left


class ClassError(RefusedError):
    """A request that the class refuses."""

    section = "class"


@dataclass(frozen=True)
class Ages:
    """The times after which a room ends.

    Args:
        idle: seconds after the last sign of the lecturer.
        most: seconds in all.
        ended: seconds for which the followers of a room that was closed are told so.
    """

    idle: float = 3600.0
    most: float = 12 * 3600.0
    ended: float = 120.0


@dataclass(frozen=True)
class Room:
    """A room as it is now.

    Args:
        lead: by which its lecturer and its followers are known.
        version: goes up whenever what it tells changes.
        leader: the device that leads it, "" before one has.
        told: what it tells: "here", where the lecturer is, and "question", as texts of JSON.
        asks: the name of the question that stands, "" for none.
        shown: whether its answer is revealed.
        counts: how often each of its choices was given.
        present: how many follow.
        ended: whether the lecturer has closed the room.
    """

    lead: Lead
    version: int = 0
    leader: str = ""
    told: Mapping[str, str] = field(default_factory=dict)
    asks: str = ""
    shown: bool = False
    counts: Mapping[int, int] = field(default_factory=dict)
    present: int = 0
    ended: bool = False


class Store(Protocol):
    """Rooms by their codes. Every call may raise a ClassError "away": nothing is known then.

    Attributes:
        far: whether a call may take long, as another process answers it.
    """

    far: bool

    def open(self, code: str, lead: Lead, most: int, opener: str) -> None:
        """Begin a room, or go on with one of the same key; `opener` is the mark of an address.

        Raises:
            ClassError: "rooms_full" beyond `most` rooms; "address_rooms" beyond the part of it that
                one address may hold; "openings", too many by this address.
        """

    def look(self, code: str) -> Room | None:
        """The room, None where there is none, or no longer."""

    def hold(self, code: str) -> None:
        """A sign of the lecturer: the room lasts on."""

    def lead(self, code: str, device: str, *, takes: bool = False) -> None:
        """A device of the lecturer's leads from now on, where none does or it takes the lead.

        Raises:
            ClassError: "no_room"; "led", another device leads.
        """

    def tell(self, code: str, part: str, text: str, device: str = "") -> None:
        """Change what the room tells, if this device leads it.

        Raises:
            ClassError: "no_room"; "led", another device leads.
        """

    def ask(self, code: str, asks: str, text: str) -> None:
        """Put a question, under a name of its own, or with "" none; its counts begin at nothing.

        Raises:
            ClassError: "no_room".
        """

    def show(self, code: str, asks: str) -> None:
        """Reveal the answer, if the question of this name stands; from then on none counts."""

    def admit(self, code: str, mark: str) -> None:
        """Let somebody join from an address of this mark; a seat is taken by being there.

        Raises:
            ClassError: "no_room"; "crowd", too many join by this address.
        """

    def seat(self, code: str, follower: str) -> None:
        """Give a seat to a follower who is there, as long as more is heard.

        Raises:
            ClassError: "no_room"; "room_full"; "address_full", one address has its part.
        """

    def heard(self, code: str, followers: Iterable[str]) -> None:
        """These are present, and keep their seats."""

    def answer(self, code: str, asks: str, follower: str, choice: int) -> None:
        """Count an answer, once of each follower and as long as the question stands.

        Raises:
            ClassError: "closed"; "twice".
        """

    def end(self, code: str) -> None:
        """Close a room: all that is kept of it goes, but that it has ended."""
