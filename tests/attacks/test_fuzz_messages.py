"""Raw messages of the protocol: whatever was sent before, a good message is answered."""

from random import Random

from tests.attacks.client import Session
from tests.attacks.forged import GOOD, exchange, forged

MESSAGES = 30


def test_a_good_message_is_answered_after_any_other(app):
    draw, session = Random(1), Session(app.url)
    session.open(GOOD)
    for number in range(MESSAGES):
        message = forged(draw, session.seen, session.state)
        session = exchange(session, message, app.url, f"mark{number}")
    session.close()
