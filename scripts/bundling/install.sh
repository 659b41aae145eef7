#!/usr/bin/env bash
# First: sha256sum SHA256SUMS (compare it with the hash that came apart from this bundle), then
# sha256sum --check --quiet SHA256SUMS && bash install.sh [FOLDER]
# Installs this bundle without a network, by default into ~/pathway_local. PYTHON names a Python.
# Needs bash, coreutils and a Python, nothing else. Running it again is quick and harmless.
set -euo pipefail
shopt -s nullglob dotglob

fail() {
    printf 'error: %s\n       %s\n' "$1" "$2" >&2
    exit 1
}

say() {
    printf '%s\n' "$1" >&2
}

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
    say "usage: bash install.sh [FOLDER]"
    exit 2
fi
folder=$(realpath -m -- "${1:-$HOME/pathway_local}")
models=${XDG_DATA_HOME:-$HOME/.local/share}/pathway-local/models
cd "$(dirname "${BASH_SOURCE[0]}")"

# Report missing files before damaged ones, and check the small files first: hashing the others takes a while.
again="Copy the bundle again from the machine that made it."
[ -s SHA256SUMS ] || fail "SHA256SUMS is missing in $PWD" "$again"
mapfile -t lines <SHA256SUMS
small=() large=() missing=()
for line in "${lines[@]}"; do
    file=${line:66}
    [ -f "$file" ] || missing+=("$file")
    case $file in
    wheels/* | judges/*) large+=("$line") ;;
    *) small+=("$line") ;;
    esac
done
[ ${#missing[@]} = 0 ] || fail "${#missing[@]} of ${#lines[@]} files are missing, first ${missing[0]}" "$again"

check() {
    local said
    if ! said=$(printf '%s\n' "$@" | sha256sum --check --strict --quiet 2>/dev/null); then
        said=${said//: FAILED/}
        fail "damaged or changed: ${said//$'\n'/, }" "Copy these files again from the machine that made the bundle."
    fi
}

check "${small[@]}"
declare -A about
while IFS='=' read -r key value; do about[$key]=$value; done <about.txt
environment=$folder/${about[environment]}
this=$(sha256sum SHA256SUMS | cut -c-64)

[ "$(uname -m)" = "${about[machine]}" ] ||
    fail "this bundle is for ${about[machine]}, this machine is $(uname -m)" "Make one on a machine like this one."

if [ -d "$folder" ] && [ -n "$(ls -A "$folder")" ] && [ ! -e "$folder/.from-bundle" ]; then
    fail "$folder is not empty, and no bundle was installed there" "Name another folder: bash install.sh FOLDER"
fi

# If the environment's Python is gone, as after an update of the system, make the environment again.
[ -x "$environment/bin/python" ] || rm -f "$environment/.complete" "$environment/.bundle"

all_here() {
    local file
    [ -f "$environment/.complete" ] && [ "$(cat "$environment/.bundle" 2>/dev/null)" = "$this" ] || return 1
    for file in judges/*/*; do
        [ ! -e "$file" ] || [ -e "$models/${file#judges/}" ] || return 1
    done
}

if all_here; then
    say "already installed in $folder. To install it again, delete ${about[environment]} there."
    exit 0
fi

version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

if [ -x "$environment/bin/python" ]; then
    names=("$environment/bin/python")
    hint="$environment has another: delete it, and the bundle makes a new one."
elif [ -n "${PYTHON:-}" ]; then
    names=("$PYTHON")
    found=$(version "$PYTHON")
    hint="PYTHON names $PYTHON, ${found:-which does not run}."
else
    # shellcheck disable=SC2206  # split into words on purpose
    names=(${about[pythons]} 3)
    names=("${names[@]/#/python}")
    hint="Install one, or run: PYTHON=/path/to/python bash install.sh FOLDER"
fi
python=
for name in "${names[@]}"; do
    found=$(version "$name")
    if [ -n "$found" ] && [[ " ${about[pythons]} " == *" $found "* ]]; then
        python=$name
        break
    fi
done
[ -n "$python" ] || fail "this bundle needs Python ${about[pythons]// / or }, and none was found" "$hint"

glibc=$("$python" -c 'import os; print(os.confstr("CS_GNU_LIBC_VERSION").split()[1])' 2>/dev/null || true)
[ -n "$glibc" ] && [ "$(printf '%s\n' "$glibc" "${about[glibc]}" | sort -V | tail -n 1)" = "$glibc" ] ||
    fail "this bundle needs glibc ${about[glibc]} or newer, this machine has ${glibc:-none}" "Use a newer Linux."

check_writable() {
    local at=$1
    while [ ! -e "$at" ]; do at=$(dirname "$at"); done
    [ -d "$at" ] && [ -w "$at" ] || fail "$at can't be written" "Become its owner, or $2."
}

check_writable "$folder" "name another folder: bash install.sh FOLDER"
check_writable "$models" "set XDG_DATA_HOME, now and always, to another folder"

say "checking ${#large[@]} files of bundle $this"
check "${large[@]}"

mkdir -p "$folder"
[ -e "$folder/.from-bundle" ] || : >"$folder/.from-bundle"
work=$folder/.incoming
trap 'rm -rf "$work" "$models"/.*.incoming' EXIT
rm -rf "$work" "$models"/.*.incoming
mkdir -p "$work/wheels" "$work/project"

# Take only listed files, so that nobody can add a wheel to the folder.
for line in "${large[@]}"; do
    file=${line:66}
    case $file in
    judges/*)
        name=${file#judges/}
        mkdir -p "$models/.${name%/*}.incoming"
        cp "$file" "$models/.${name%/*}.incoming/"
        ;;
    *) ln -s "$PWD/$file" "$work/$file" ;;
    esac
done

# Keep the project's old files until the next update, in case somebody has changed them. A second try must not move the
# new files there, so it leaves them alone.
if [ "$(cat "$folder/.from-bundle")" != "$this" ]; then
    "$python" -W ignore -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
        project.tar.gz "$work/project"
    mkdir -p "$folder/.previous"
    for new in "$work"/project/*/*; do
        name=${new##*/}
        if [ -e "$folder/$name" ]; then
            rm -rf "$folder/.previous/$name"
            mv "$folder/$name" "$folder/.previous/$name"
        fi
        mv "$new" "$folder/$name"
    done
    printf '%s\n' "$this" >"$folder/.from-bundle"
fi

# Ignore the user's settings of pip, which may name an index or constraints. Run pip from its own wheel: some Pythons,
# such as Debian's, lack the part that puts pip into a new environment.
unset PYTHONPATH PYTHONHOME "${!PIP_@}"
export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1
[ -x "$environment/bin/python" ] || "$python" -m venv --without-pip "$environment"
if ! "$environment/bin/python" -c 'import pip' 2>/dev/null; then
    wheel=("$work"/wheels/pip-*.whl)
    "$environment/bin/python" "${wheel[0]}/pip" install --quiet --no-deps "${wheel[0]}"
fi
option=${about[environment]#.venv}
# PIP_FIND_LINKS is split at blanks, which the folder's own name may have: hence the relative path.
(cd "$folder" && PIP_FIND_LINKS=.incoming/wheels bash scripts/setup ${option:+"-$option"}) ||
    fail "the packages could not be installed into $environment" "Delete it and run this again with a whole bundle."

for new in "$models"/.*.incoming; do
    name=${new##*/.}
    name=${name%.incoming}
    rm -rf "${models:?}/$name"
    mv "$new" "$models/$name"
    say "judge $name: check it with ${about[environment]}/bin/pathway-local judges check $name"
done
printf '%s\n' "$this" >"$environment/.bundle"
say "installed pathway-local ${about[version]} in $folder"
say "To check this machine: cd ${folder@Q} && ${about[environment]}/bin/pathway-local doctor"
