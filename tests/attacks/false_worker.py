"""A worker that misbehaves as each job's name says: what a broken or taken one may do."""

import json
import os
import pickle
import signal
import sys
import time
from pathlib import Path


class Bomb:
    """An object that runs a command where it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path(sys.argv[1]),)


def hear():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else sys.exit()


def say(message, tensors=()):
    say_bytes(json.dumps({**message, "tensors": tensors}).encode() + b"\n")


def say_bytes(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def given(asked, name):
    return dict(asked["given"]["dict"])[name]


def hang(asked):
    Path(given(asked, "begun")).touch()
    time.sleep(1e6)


def stop_when_told(asked):
    Path(given(asked, "begun")).touch()
    assert hear() == {"stop": asked["number"], "tensors": []}
    say({"stopped": True})


JOBS = {
    "echo": lambda asked: say({"answer": [os.getpid(), asked["given"]]}),
    "hang": hang,
    "stop_when_told": stop_when_told,
    "abort": lambda _: os.abort(),
    "killed": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "over_time": lambda _: os.kill(os.getpid(), signal.SIGXCPU),
    "end": lambda _: sys.exit(0),
    "pickle": lambda _: say_bytes(pickle.dumps(Bomb()) + b"\n"),
    "garbage": lambda _: say_bytes(b"no json\n"),
    "endless": lambda _: say_bytes(b"[" + b" " * 2**21),
    "deep": lambda _: say_bytes(b"[" * 200_000 + b"\n"),
    "vast": lambda _: say({"answer": {"tensor": 0}}, [["torch.float32", [2**39, 2**39]]]),
    "negative": lambda _: say({"answer": {"tensor": 0}}, [["torch.float32", [-4]]]),
    "short": lambda _: (say({"answer": {"tensor": 0}}, [["torch.float32", [9]]]), sys.exit(1)),
    "other_type": lambda _: say({"answer": {"type": "Popen", "fields": {"args": "true"}}}),
    "no_such_tensor": lambda _: say({"answer": {"tensor": 3}}),
    "other_code": lambda _: say({"refused": {"refusal": "CheckpointError", "code": "x",
                                             "values": {}}}),
    "no_values": lambda _: say({"refused": {"refusal": "CheckpointError", "code": "no_json",
                                            "values": {}}}),
    "other_progress": lambda _: say({"progress": ["a", None]}),
}  # fmt: skip

if __name__ == "__main__":
    while True:
        asked = hear()
        JOBS[asked["job"]](asked)
