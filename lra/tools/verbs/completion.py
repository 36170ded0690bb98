"""Shell completion of `lra VERB key=value …`: Hydra's own, with the configuration of the verb that was typed."""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from lra.base.paths import DESCRIPTION, conf_dir, runs_dir
from lra.runs.files import hash_and_seed, run_folders
from lra.runs.groups import groups_in, published_names
from lra.settings.config_dirs import added_config_dirs, split_config_dirs
from lra.types import UserError

SHELLS = {"bash": " ", "fish": "\n"}  # what separates two answers; zsh uses bash's completion
INSTALL = 'type eval "$(lra -sc install=bash)" in bash or zsh, lra -sc install=fish | source in fish'
TO_TRAINER = "+trainer."  # what may be added there is in no configuration
WHOLE_GROUP = re.compile(r"~[^.]+")  # every run needs all groups
NO_OPTIONS = {f"{group}.{key}=" for group, keys in DESCRIPTION.items() for key in keys}
NAMES_OF_RUNS = ("run", "run_group")  # the options whose values are in the folder of runs, not in the configuration
PATHS_RUNS = "paths.runs="
READERS = ("report", "publish", "show")  # these verbs take a group of published records too
OVER_RUNS = ("table", "compare", "sweep", "tune")  # these verbs take the settings of `lra train`


def complete(
    arguments: Sequence[str], verbs: Mapping[str, str], subcommands_of: Callable[[str], Sequence[str]]
) -> None:
    """Do what `lra -sc install=SHELL`, `uninstall=SHELL` or `query=SHELL` asks for; `arguments` are those after `-sc`.

    In a query the shell gives the typed line in $COMP_LINE, and the possible words are printed. `subcommands_of` gives
    the words that may follow a verb before its settings, such as `plan` after `table`.

    Raises:
        UserError: for another shell or another request.
    """
    request, _, shell = (arguments[0] if arguments else "").partition("=")
    if request not in ("install", "uninstall", "query") or shell not in SHELLS:
        raise UserError(f"-sc {' '.join(arguments)} is not known; {INSTALL}")
    if request != "query":
        _ask_hydra("train", f"{request}={shell}")
        return
    _, *typed = os.environ.get("COMP_LINE", "lra").split(" ")
    if len(typed) < 2:
        print(SHELLS[shell].join(_beginning(typed, verbs)))
        return
    verb, *rest = typed
    subcommands = _beginning(rest, subcommands_of(verb)) if len(rest) == 1 else []
    if subcommands:
        print(SHELLS[shell].join(subcommands))
    config = "train" if verb in OVER_RUNS else verb
    key, equals, value = rest[-1].partition("=")
    if equals and key in NAMES_OF_RUNS and verb in verbs and _has_option(config, key):
        known = _runs(rest, value) if key == "run" else _groups(verb, rest)
        print(SHELLS[shell].join(f"{key}={name}" for name in known if name.startswith(value)))
        return
    if not subcommands and verb in verbs and (conf_dir() / f"{config}.yaml").is_file():
        _answer(config, rest, shell)


def _beginning(typed: Sequence[str], known: Sequence[str] | Mapping[str, str]) -> list[str]:
    return [name for name in known if name.startswith(typed[-1] if typed else "")]


def _has_option(config: str, key: str) -> bool:
    from lra.settings.compose import load_config

    return key in load_config(config).names


def _folder_of_runs(typed: Sequence[str]) -> Path:
    """The folder of runs that was typed, else the usual one."""
    named = [text.removeprefix(PATHS_RUNS) for text in typed if text.startswith(PATHS_RUNS)]
    return Path(named[-1]).expanduser() if named else runs_dir()


def _runs(typed: Sequence[str], value: str) -> list[str]:
    """Name the runs that there are by their hashes; with their group where that is typed, or several have the hash."""
    runs = _folder_of_runs(typed)
    found = {(str(folder.relative_to(runs).parents[3]), hash_and_seed(folder)[0]) for folder in run_folders(runs, runs)}
    times = Counter(settings for _, settings in found)
    return sorted(
        f"{group}/{settings}" if "/" in value or times[settings] > 1 else settings for group, settings in found
    )


def _groups(verb: str, typed: Sequence[str]) -> list[str]:
    """Name the run groups; for what only reads them, the files of published records too."""
    runs = _folder_of_runs(typed)
    if verb in READERS or "show" in typed:
        return sorted({*groups_in(runs), *published_names()})
    return [name for name in groups_in(runs) if (runs / name).is_dir()]


def _answer(verb: str, typed: Sequence[str], shell: str) -> None:
    """Print Hydra's answer for the last word; of several values, `key=a,b`, Hydra is asked about one alone."""
    *earlier, last = typed
    earlier, folders = split_config_dirs(earlier)  # the flag of `--config-dir FOLDER` is taken out with its value
    before = [argument for argument in earlier if not argument.isalpha()]
    added = last.removeprefix(TO_TRAINER)
    if added != last:
        from lra.settings.declared import trainers_own  # slow: it knows Hydra and Lightning

        print(SHELLS[shell].join(f"{TO_TRAINER}{name}=" for name in trainers_own() if name.startswith(added)))
        return
    listed, comma, _ = last.rpartition(",")
    key, _, values = listed.partition("=")
    before = [_with_one_value(argument) for argument in before]
    os.environ["COMP_LINE"] = " ".join(["lra", *before, _with_one_value(last) if values else last])
    answer = StringIO()
    with redirect_stdout(answer), added_config_dirs(folders):
        _ask_hydra(verb, f"query={shell}")
    candidates = [
        candidate
        for candidate in answer.getvalue().split()
        if not WHOLE_GROUP.fullmatch(candidate) and candidate not in NO_OPTIONS
    ]
    if values:
        others = {f"{key}={value}" for value in values.split(",")}
        candidates = [
            candidate.replace(f"{key}=", f"{listed}{comma}", 1) for candidate in candidates if candidate not in others
        ]
    print(SHELLS[shell].join(candidates))


def _with_one_value(override: str) -> str:
    """Keep the last one of several values: `key=a,b` becomes `key=b`."""
    key, equals, values = override.partition("=")
    return f"{key}{equals}{values.rpartition(',')[2]}"


def _ask_hydra(verb: str, request: str) -> None:
    from lra.settings.application import complete_by_hydra

    complete_by_hydra(verb, request)
