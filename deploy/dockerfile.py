"""The steps of a Dockerfile, gone through without Docker: each stage is a folder of its own."""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(?<![\w.$}/-])/(?=(?:opt|home)\b)")  # of the image, not of this machine
SHIMS = {
    "python": '#!/bin/sh\nexec "$REAL_PYTHON" "$@"\n',
    "useradd": "#!/bin/sh\nexit 0\n",
    "pip": """#!/bin/sh
case " $* " in
  *" uninstall "*) exit 0 ;;
esac
[ -n "$LINKED" ] || exec "$REAL_PYTHON" -m pip "$@"
packages=$("$2" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$LINKED" > "$packages/linked.pth"
""",
}


@dataclass(frozen=True)
class Stage:
    """What one FROM has become: its files, variables and folder, and how it is started."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "root"
    health: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    def here(self, text: str) -> str:
        """A text of the Dockerfile, with the image's places below this stage's folder."""
        return PLACE.sub(f"{self.root}/", text)

    def filled(self, text: str) -> str:
        """With the values of its variables, and this machine's path where the image has its own."""
        return Template(text).safe_substitute({"PATH": os.environ["PATH"]} | self.variables)

    @property
    def folder(self) -> Path:
        """Where the next step works."""
        return self.root / self.workdir.lstrip("/")


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction and what follows it."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|$)", line)]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        yield instruction.upper(), rest.strip()


class Build:
    """The stages of a Dockerfile, made below a folder."""

    def __init__(self, folder: Path, arguments: dict[str, str], linked: bool) -> None:
        self.folder, self.arguments = folder, arguments
        self.stages: dict[str, Stage] = {}
        self.tools = folder / "tools"
        self.tools.mkdir()
        for name, text in SHIMS.items():
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)
        real = getattr(sys, "_base_executable", sys.executable)
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        self.given = {"REAL_PYTHON": real, "LINKED": packages if linked else ""}

    def run(self, text: str) -> Stage:
        """Go through all steps; the last stage."""
        stage = None
        for instruction, rest in steps(text):
            print(instruction, rest, flush=True)
            stage = getattr(self, f"_{instruction.lower()}")(stage, rest)
        return stage

    def environment(self, stage: Stage) -> dict[str, str]:
        """What a command of a stage has: its own variables, and what pip needs here."""
        kept = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
        own = {name: stage.here(text) for name, text in stage.variables.items()}
        path = own.get("PATH", os.environ["PATH"]).replace(os.environ["PATH"], "", 1).rstrip(":")
        first = [path] if path else []
        own["PATH"] = ":".join([*first, str(self.tools), os.environ["PATH"]])
        return kept | self.given | own

    def _from(self, _stage: Stage | None, rest: str) -> Stage:
        origin, _, name = rest.partition(" AS ")
        root = self.folder / (name or "final")
        if known := self.stages.get(origin):
            shutil.copytree(known.root, root, symlinks=True)
            stage = replace(known, root=root, variables=dict(known.variables))
        else:
            root.mkdir()
            stage = Stage(root)
        self.stages[name] = stage
        return stage

    def _arg(self, stage: Stage, rest: str) -> Stage:
        name, _, default = rest.partition("=")
        value = self.arguments.get(name, stage.filled(default))
        return replace(stage, variables=stage.variables | {name: value})

    def _env(self, stage: Stage, rest: str) -> Stage:
        pairs = dict(pair.split("=", 1) for pair in shlex.split(rest))
        filled = {name: stage.filled(value) for name, value in pairs.items()}
        return replace(stage, variables=stage.variables | filled)

    def _workdir(self, stage: Stage, rest: str) -> Stage:
        stage = replace(stage, workdir=stage.filled(rest))
        stage.folder.mkdir(parents=True, exist_ok=True)
        return stage

    def _copy(self, stage: Stage, rest: str) -> Stage:
        *options, target = shlex.split(rest)
        origin = ROOT
        if options[0].startswith("--from="):
            origin = self.stages[options.pop(0).removeprefix("--from=")].root
        for source in options:
            _copy(origin / source.lstrip("/"), stage.folder / stage.here(target), origin)
        return stage

    def _run(self, stage: Stage, rest: str) -> Stage:
        environment = self.environment(stage)
        command = ["sh", "-ec", stage.here(rest)]
        subprocess.run(command, cwd=stage.folder, env=environment, check=True)
        return stage

    def _user(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, user=rest)

    def _expose(self, stage: Stage, _rest: str) -> Stage:
        return stage

    def _healthcheck(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, health=tuple(json.loads(rest.partition("CMD ")[2])))

    def _cmd(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, command=tuple(json.loads(rest)))


def _copy(source: Path, target: Path, origin: Path) -> None:
    """As Docker does, without what .dockerignore names."""
    if source.is_dir():
        left_out = _left_out if origin == ROOT else None
        shutil.copytree(source, target, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def _left_out(folder: str, names: list[str]) -> set[str]:
    patterns = (ROOT / ".dockerignore").read_text("utf-8").split()
    return {name for name in names if any(_matches(Path(folder) / name, one) for one in patterns)}


def _matches(path: Path, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch.fnmatch(path.name, pattern[3:])
    place = path.relative_to(ROOT).as_posix()
    return place.count("/") == pattern.count("/") and fnmatch.fnmatch(place, pattern)
