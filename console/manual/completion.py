"""``kac completion SHELL``: a script that completes commands, options and the names in a cluster."""

from __future__ import annotations

import argparse
import sys

BASH = """\
# kac completion for bash: put into ~/.bashrc:  source <(kac completion bash)
_kac() {
    local line="${COMP_LINE:0:COMP_POINT}" found
    local word="${COMP_WORDS[COMP_CWORD]}"
    found=$(kac __complete bash "$line" "$word" 2>/dev/null)
    if [[ $found == :files ]]; then
        COMPREPLY=($(compgen -f -- "${word#[=:]}"))
        return
    fi
    local IFS=$'\\n'
    COMPREPLY=($found)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _kac kac
"""

ZSH = """\
#compdef kac
# kac completion for zsh: put into ~/.zshrc, after compinit:  source <(kac completion zsh)
_kac() {
    local -a lines with without
    lines=("${(@f)$(kac __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ ${lines[1]} == :files ]]; then
        _files
        return
    fi
    local line text
    for line in $lines; do
        [[ -z $line ]] && continue
        text=${line%%$'\\t'*}
        if [[ $text == *= ]]; then
            without+=("$text")
        elif [[ $line == *$'\\t'* ]]; then
            with+=("${text//:/\\\\:}:${line#*$'\\t'}")
        else
            with+=("${text//:/\\\\:}")
        fi
    done
    (( ${#without} )) && compadd -S '' -- $without
    (( ${#with} )) && _describe -t values kac with
}
compdef _kac kac
"""

FISH = """\
# kac completion for fish: kac completion fish > ~/.config/fish/completions/kac.fish
function __kac_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (kac __complete fish $words[2..-1] 2>/dev/null)
    if test "$found" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c kac -f -a '(__kac_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="whose script to print")
    parser.epilog = (
        "examples:\n"
        "  source <(kac completion bash)                                    in ~/.bashrc\n"
        "  source <(kac completion zsh)                                     in ~/.zshrc, after compinit\n"
        "  kac completion fish > ~/.config/fish/completions/kac.fish\n"
    )


def run(options: argparse.Namespace) -> int:
    """0."""
    sys.stdout.write(SCRIPTS[options.shell])
    return 0
