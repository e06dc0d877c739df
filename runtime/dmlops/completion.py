"""Shell completion for `dmlops`: scripts that know its commands, their options, operators and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .enums import FeatureLevel
from .registry import OPERATORS

SHELLS = ("bash", "fish", "zsh")


LEVELS = " ".join(str(level) for level in FeatureLevel)
NAMES = " ".join(OPERATORS)
_OF_ARGUMENT = {"operator": "$operators", "old": "$levels", "new": "$levels", "shell": " ".join(SHELLS)}


@dataclass(frozen=True, slots=True)
class Words:
    """The words that may follow a command: its options, other words as shell text, and files."""

    options: tuple[str, ...]
    others: str
    file: bool


def script(shell: str, commands: Mapping[str, Words]) -> str:
    """The completion script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _cases(commands: Mapping[str, Words], template: str) -> str:
    """One branch for each command, in Bourne shell syntax."""
    return "\n".join(
        template.format(
            command=command,
            words=" ".join((*one.options, one.others)).strip(),
            file="yes" if one.file else "",
        )
        for command, one in commands.items()
    )


def _bash(commands: Mapping[str, Words]) -> str:
    cases = _cases(commands, '        {command}) words="{words}" files="{file}" ;;')
    return f"""\
# eval "$(dmlops completion bash)"
_dmlops() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words="" files=""
    local levels="{LEVELS}"
    local operators="{NAMES}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="--help --version {" ".join(commands)}"
    elif [ "$before" = --level ]; then
        words="$levels"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$word")); fi
}}
complete -F _dmlops dmlops
"""


def _zsh(commands: Mapping[str, Words]) -> str:
    cases = _cases(commands, "            {command}) known=({words}) files={file} ;;")
    return f"""\
#compdef dmlops
# eval "$(dmlops completion zsh)"
_dmlops() {{
    local before="${{words[CURRENT-1]}}" command="${{words[2]}}" files=
    local -a known levels=({LEVELS})
    local -a operators=({NAMES})
    if (( CURRENT == 2 )); then
        known=(--help --version {" ".join(commands)})
    elif [[ "$before" == --level ]]; then
        known=($levels)
    else
        case "$command" in
{cases}
        esac
    fi
    compadd -- "${{known[@]}}"
    [[ -n "$files" ]] && _files
}}
compdef _dmlops dmlops
"""


def _fish(commands: Mapping[str, Words]) -> str:
    lines = [
        "# dmlops completion fish | source",
        "complete -c dmlops -f",
        f"set -g __dmlops_levels {LEVELS}",
        f"set -g __dmlops_operators {NAMES}",
        f'complete -c dmlops -n __fish_use_subcommand -a "{" ".join(commands)}"',
        "complete -c dmlops -n __fish_use_subcommand -l help",
        "complete -c dmlops -n __fish_use_subcommand -l version",
    ]
    for command, one in commands.items():
        seen = f'complete -c dmlops -n "__fish_seen_subcommand_from {command}"'
        others = one.others.replace("$", "$__dmlops_")
        lines += [f'{seen} -a "{others}"'] if others else []
        lines += [f"{seen} -F"] if one.file else []
        for option in one.options:
            level = ' -x -a "$__dmlops_levels"' if option == "--level" else ""
            lines.append(f"{seen} -l {option.removeprefix('--')}{level}")
    return "\n".join(lines) + "\n"


def words_of(options: Sequence[str], arguments: Sequence[str]) -> Words:
    """The words that may follow a command with these options and positional arguments."""
    others = " ".join(dict.fromkeys(_OF_ARGUMENT[name] for name in arguments if name in _OF_ARGUMENT))
    return Words(tuple(one for one in options if one.startswith("--")), others, "file" in arguments)
