"""Keys, codes and tokens: who leads a room, how it is joined, and whose answer is counted once.

All follow from the lecturer's key. So a room that its store has lost comes back under its code, by
only the lecturer, and the tokens of its followers go on to be good.
"""

import hmac
from dataclasses import dataclass
from hashlib import scrypt, sha256
from secrets import token_urlsafe

from ui.settings.parsers import ROOM_LENGTH, ROOM_LETTERS

KEY_BYTES, TOKEN_BYTES, SEAL_BYTES = 18, 12, 16
MARK = 8  # characters of the mark of an address
COST = {"n": 2**14, "r": 8, "p": 1}  # so that nobody finds another key for the code of a room
LONGEST = 100  # characters of a key or token


@dataclass(frozen=True)
class Lead:
    """The part of a lecturer's key that a store keeps.

    Args:
        proof: by which the key is known again.
        secret: which seals the tokens of followers.
    """

    proof: str
    secret: str


def new_key() -> str:
    """A lecturer's key."""
    return token_urlsafe(KEY_BYTES)


def code_of(key: str) -> str:
    """The code of the room that a key leads. It takes a tenth of a second, on purpose."""
    number = int.from_bytes(scrypt(key.encode(), salt=b"mla class", dklen=KEY_BYTES, **COST))
    letters = []
    for _ in range(ROOM_LENGTH):
        number, place = divmod(number, len(ROOM_LETTERS))
        letters.append(ROOM_LETTERS[place])
    return "".join(letters)


def spaced(code: str) -> str:
    """A code as it is read out."""
    half = ROOM_LENGTH // 2
    return f"{code[:half]}-{code[half:]}"


def lead_of(key: str) -> Lead:
    """Return the part of a key that is kept."""
    return Lead(*(sha256(f"{part} {key}".encode()).hexdigest() for part in ("lead", "follow")))


def is_key(key: str, lead: Lead) -> bool:
    """Tell whether the key is the lecturer's."""
    return len(key) <= LONGEST and hmac.compare_digest(lead_of(key).proof, lead.proof)


def mark(network: str, secret: str) -> str:
    """By which those who come from one address are known, without the address."""
    return hmac.digest(secret.encode(), f"at {network}".encode(), "sha256").hex()[:MARK]


def mark_of(follower: str) -> str:
    """Return the mark of the address at which a follower has joined."""
    return follower[:MARK]


def new_token(lead: Lead, mark: str) -> str:
    """A follower's token: a name in the room, which begins with the mark of an address."""
    name = mark + token_urlsafe(TOKEN_BYTES)
    return f"{name}.{_proof(name, lead)}"


def is_token(token: str, lead: Lead) -> bool:
    """Tell whether the token was given out for this room."""
    name, _, proof = token[:LONGEST].partition(".")
    return hmac.compare_digest(proof.encode(), _proof(name, lead).encode())


def _proof(name: str, lead: Lead) -> str:
    return hmac.digest(lead.secret.encode(), name.encode(), "sha256")[:SEAL_BYTES].hex()


def seal(text: str, secret: str) -> str:
    """By which this server knows a text again that it gave out."""
    return hmac.digest(secret.encode(), text.encode(), "sha256").hex()


def is_sealed(text: str, mark: str, secret: str) -> bool:
    """Tell whether this server gave out the text."""
    return hmac.compare_digest(mark.encode(), seal(text, secret).encode())
