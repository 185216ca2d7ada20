"""``kac completion SHELL``: prints a script with which the shell completes commands, options and names in a cluster."""

from __future__ import annotations

import argparse
import shlex

from console.terminal import put

# bash puts the elements of COMPREPLY onto the line unchanged, so each line of the answer becomes one element, neither
# split nor expanded.
BASH = """\
# kac completion for bash: put into ~/.bashrc:  source <(kac completion bash)
_kac() {
    local each
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 && $2 != -* ]]; then
        COMPREPLY=($(compgen -W "COMMANDS" -- "$2"))
        return
    fi
    # While a busy host or a far cluster takes its time: there is an answer coming.
    [[ -t 2 && $COMP_POINT -eq ${#COMP_LINE} ]] && printf '.\\b' >&2
    while IFS= read -r each; do
        COMPREPLY+=("$each")
    done < <(kac __complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    [[ -t 2 && $COMP_POINT -eq ${#COMP_LINE} ]] && printf ' \\b' >&2
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        COMPREPLY=()
        compopt -o default
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _kac kac
"""

ZSH = """\
#compdef kac
# kac completion for zsh: put into ~/.zshrc, after compinit:  source <(kac completion zsh)
# or into a folder of fpath, as _kac
_kac() {
    local -a lines keys values shown
    local each
    if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
        values=(COMMANDS)
        shown=(DESCRIBED)
        compadd -l -d shown -a values
        return
    fi
    lines=("${(@f)$(kac __complete zsh "${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null)}")
    if [[ ${lines[1]} == :files ]]; then
        compset -P '--*='
        _files
        return
    fi
    for each in "${lines[@]}"; do
        if [[ -z $each ]]; then
            continue
        elif [[ $each == *= ]]; then
            keys+=("$each")
        else
            values+=("${each%%$'\\t'*}")
            shown+=("${each/$'\\t'/  -- }")
        fi
    done
    (( ${#keys} )) && compadd -S '' -a keys
    (( ${#values} )) && compadd -l -d shown -a values
}
if [[ ${funcstack[1]-} == _kac ]]; then
    _kac
else
    compdef _kac kac
fi
"""

FISH = """\
# kac completion for fish: kac completion fish > ~/.config/fish/completions/kac.fish
function __kac_complete
    if test (count (commandline -opc)) -eq 1; and not string match -q -- '-*' (commandline -ct)
        printf '%s\\t%s\\n' NAMED
        return
    end
    set -l found (kac __complete fish (commandline -cp | string collect) 2>/dev/null)
    if test "$found" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c kac -f -a '(__kac_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac completion``: the shell."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell")
    parser.epilog = (
        "examples:\n"
        "  source <(kac completion bash)                                    in ~/.bashrc\n"
        "  source <(kac completion zsh)                                     in ~/.zshrc, after compinit\n"
        "  kac completion fish > ~/.config/fish/completions/kac.fish\n"
    )


def script(shell: str) -> str:
    """Return the completion script for a shell. It contains the names of the commands, so that their completion starts
    no Python.
    """
    from console.cli.main import COMMANDS

    shown = [command for command in COMMANDS if command.help]
    parts = {
        "COMMANDS": " ".join(each.name for each in shown),
        "DESCRIBED": " ".join(shlex.quote(f"{each.name}  -- {each.help}") for each in shown),
        "NAMED": " ".join(f"{each.name} {shlex.quote(each.help)}" for each in shown),
    }
    made = SCRIPTS[shell]
    for word, text in parts.items():
        made = made.replace(word, text)
    return made


def run_completion(options: argparse.Namespace) -> int:
    """Print the shell's script; return 0."""
    put(script(options.shell))
    return 0
