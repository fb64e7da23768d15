"""Completions as real shells complete, and manual pages as `man` renders them: both from the definition that `--help` shows."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recording import binary, genba_said

VARIABLES = {
    "report": {f"GENBA_{key}" for key in ("BY", "COLOR", "LIMIT", "MIN_SHARE", "SHOW", "SORT", "WEIGHT")},
    "tree": {f"GENBA_{key}" for key in ("COLOR", "INVERTED", "MAX_DEPTH", "MIN_SHARE", "SHOW", "SORT", "WEIGHT")},
    "diff": {"GENBA_COLOR", "GENBA_WEIGHT"},
    "attach": {
        f"GENBA_{key}" for key in "BUDGET CHILDREN COLOR COPIES DURATION GC INTERVAL MEM MIN_SHARE NATIVE QUIET RATE SHOW SORT SOURCE TAG WEIGHT".split()
    },
    "dump": {"GENBA_COLOR"},
    "trace": {"GENBA_PYTHON", "GENBA_QUIET"},
    "gc": {"GENBA_COLOR"},
    "lines": {f"GENBA_{key}" for key in ("COLOR", "MIN_SHARE", "SORT", "WEIGHT")},
    "run": {
        f"GENBA_{key}"
        for key in "ALLOC BUDGET CHILDREN COLOR COPIES DURATION GC INTERVAL MEM MIN_SHARE NATIVE PUSH PYTHON QUIET RATE SHOW SORT SOURCE TAG WEIGHT".split()
    },
}

# Verbs of a verb that have options of their own.
NESTED = (("serve", "token", "add"), ("serve", "prune"), ("gc", "try"), ("gc", "cycles"), ("heap", "refs"), ("heap", "diff"))


def verbs() -> list[str]:
    """Those in `--help`, in its order."""
    return re.findall(r"^  ([a-z]+) ", genba_said("--help"), re.MULTILINE)


def options_of(*verb: str) -> set[str]:
    """The long options in `--help`, in the column where they stand."""
    return set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", genba_said(*verb, "--help"), re.MULTILINE))


def shell(name: str, script: str, folder: Path, *arguments: str) -> str:
    """What the shell printed, without the user's own settings for it. `genba` is on PATH."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name}: make prepare")
    quiet = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    environment = {"PATH": f"{binary().parent}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb"}
    command = [path, *quiet, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


# As readline calls a completion function: the words so far, and which of them is being completed.
BASH = """source <(genba completions bash)
registered=$(complete -p genba)
[[ $registered == *"-F _genba "* ]] || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_genba "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def by_bash(folder: Path, *words: str) -> set[str]:
    return set(shell("bash", BASH, folder, "bash", *words).split())


def by_fish(folder: Path, line: str) -> set[str]:
    said = shell("fish", "genba completions fish | source; complete --do-complete $argv[1]", folder, line)
    return {one.split("\t")[0] for one in said.splitlines()}


def test_bash_completes(tmp_path: Path) -> None:
    assert by_bash(tmp_path, "genba", "r") == {"run", "report"}
    assert by_bash(tmp_path, "genba", "") >= set(verbs())
    assert by_bash(tmp_path, "genba", "report", "--so") == {"--sort"}
    assert by_bash(tmp_path, "genba", "report", "--sort", "") == {"self", "total"}
    (tmp_path / "app.genba").touch()
    assert by_bash(tmp_path, "genba", "run", "--output", "a") == {"app.genba"}
    for verb in verbs():
        assert by_bash(tmp_path, "genba", verb, "--") == options_of(verb)


def test_fish_completes(tmp_path: Path) -> None:
    assert by_fish(tmp_path, "genba r") == {"run", "report"}
    assert by_fish(tmp_path, "genba report --sort ") == {"self", "total"}
    for verb in verbs():
        assert by_fish(tmp_path, f"genba {verb} --") == options_of(verb)


def test_zsh_takes_the_function(tmp_path: Path) -> None:
    script = (
        "autoload -U compinit && compinit -D -u; source <(genba completions zsh)\n"
        "print -r -- $_comps[genba]; print -r -- $functions[_genba]"
    )
    first, *body = shell("zsh", script, tmp_path).splitlines()
    assert first == "_genba"
    offered = set(re.findall(r"'(?:\([^)]*\))?\*?(--[a-z-]+)[=\[+]", "\n".join(body)))
    nested = {option for words in NESTED for option in options_of(*words)}
    assert offered == {option for verb in verbs() for option in options_of(verb)} | nested | {"--version"}


def test_a_shell_that_genba_does_not_know(tmp_path: Path) -> None:
    done = subprocess.run([binary(), "completions", "tcsh"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "bash, zsh, fish" in done.stderr, done.stderr


def rendered(*verb: str) -> str:
    """By `man`, which warns of what it does not understand."""
    roff = genba_said("man", *verb)
    environment = {**os.environ, "MANWIDTH": "200", "MANROFFOPT": "-rHY=0", "LC_ALL": "C.UTF-8"}
    command = ["man", "--warnings=all", "--local-file", "-"]
    done = subprocess.run(command, input=roff, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return re.sub(".\b", "", done.stdout)


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="no man or groff: make prepare")
def test_manual_pages() -> None:
    page = rendered()
    assert page.startswith("genba(1)"), page
    assert re.findall(r"genba-([a-z]+)\(1\)", page) == verbs()
    for verb in verbs():
        page = rendered(verb)
        assert page.startswith(f"genba-{verb}(1)"), page
        assert set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", page, re.MULTILINE)) == options_of(verb)
        assert "of-settings" not in page, "what --help hides is hidden"
        listed = set(re.findall(r"GENBA_[A-Z_]+", page.partition("ENVIRONMENT")[2]))
        assert listed == VARIABLES.get(verb, set())
        assert ("program's own" in page.partition("EXIT STATUS")[2]) == (verb in ("run", "trace"))


def test_no_page_of_what_is_no_verb() -> None:
    done = subprocess.run([binary(), "man", "nothing"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "") and "hint: " in done.stderr, done
