#!/usr/bin/env bash
# What action.yml runs: find or make an environment for ciwm, then become the command asked for.
set -euo pipefail

action_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
  printf '::error title=ciwm::%s\n' "$1"
  exit 4
}

# From a copy of the sources, since a build writes beside them.
install_into() {
  local python=$1 venv=$2 copy status=0
  rm -rf "$venv"
  copy=$(mktemp -d) || return 1
  cp -R "$action_dir"/{ciwm,pyproject.toml,README.md,LICENSE} "$copy/" &&
    "$python" -I -m venv "$venv" &&
    "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check "$copy" >&2 || status=1
  rm -rf "$copy"
  return $status
}

is_ready() {
  [ -e "$1/ready" ] && [ -x "$1/venv/bin/python" ]
}

# A virtual environment of our own, never the framework's, named by what is in it.
# -I: the folder we stand in is the checkout, which may hold a platform.py or a pip/ of a stranger's,
# and the job's token is in the environment. What an image sets for the framework's pip is not ours.
own_environment() {
  local python=$1 digest home
  unset PYTHONPATH PYTHONHOME PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT
  "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    fail "$python is missing or older than Python 3.10: set the input python"
  digest=$({
    "$python" -I -c 'import sys, platform; print(sys.version, sys.executable, platform.machine())'
    find "$action_dir/ciwm" "$action_dir/pyproject.toml" -type f -not -name '*.pyc' -print0 |
      LC_ALL=C sort -z | xargs -0 sha256sum | sed "s|$action_dir/||"
  } | sha256sum | cut -c1-16)
  home=${RUNNER_TOOL_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}}/ciwm/$digest
  if ! is_ready "$home" && ! { mkdir -p "$home" && [ -w "$home" ]; } 2>/dev/null; then
    printf '::warning title=ciwm::%s\n' "$home cannot be written: ciwm is installed for this job alone" >&2
    home=$(mktemp -d "${RUNNER_TEMP:-/tmp}/ciwm-XXXXXX") || fail "no folder to install ciwm into"
  fi
  is_ready "$home" || (
    flock 9 || exit 1 # two jobs on one host make it once
    is_ready "$home" || { install_into "$python" "$home/venv" && touch "$home/ready"; }
  ) 9>"$home/lock" || fail "could not install ciwm into $home: see the lines above"
  printf '%s\n' "$home/venv"
}

case ${CIWM_COMMAND:-ci} in
  ci) arguments=(ci) ;;
  sync-report) arguments=(ci --only sync) ;;
  bench) arguments=(ci --only bench) ;;
  map) arguments=(ci --only map) ;;
  publish) arguments=(publish) ;;
  bump-preview) arguments=(bump-preview) ;;
  merge) arguments=(merge) ;;
  publish-preview) arguments=(publish --issue) ;;
  respond) arguments=(respond) ;;
  *) fail "no such command: the input command is ci, sync-report, bench, map, publish, bump-preview, publish-preview, merge or respond" ;;
esac

executable=${CIWM_EXECUTABLE:-}
if [ -n "$executable" ]; then
  [ -x "$executable" ] || command -v "$executable" >/dev/null || fail "no executable $executable: see the input executable"
  program=("$executable")
else
  venv=$(own_environment "${CIWM_PYTHON:-python3}") || { printf '%s\n' "$venv"; exit 4; }
  program=("$venv/bin/python" -I "$venv/bin/ciwm") # PYTHONPATH may be the framework's
fi
unset CIWM_EXECUTABLE CIWM_PYTHON CIWM_COMMAND
exec "${program[@]}" "${arguments[@]}"
