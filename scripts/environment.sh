# The environment of this checkout, for the scripts beside this file to source: .venv at
# the top, with the project installed in it. What the scripts do there belongs in them.
# Progress goes to stderr, so that stdout stays the tool's own.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
venv="$root/.venv"
python="$venv/bin/python"
constraints="scripts/constraints.txt"

# Work in .venv-NAME with the pins of scripts/constraints-NAME.txt instead.
use_environment() {
  venv="$root/.venv-$1"
  python="$venv/bin/python"
  constraints="scripts/constraints-$1.txt"
}

# Say why on stderr and leave with 2, "wrong use".
fail() {
  printf '%s\n' "$1" >&2
  exit 2
}

# Install the named Debian packages that are missing; nothing is done when none is.
install_system_packages() {
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  printf 'installing system packages: %s\n' "${missing[*]}" >&2
  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  ${as_root[@]+"${as_root[@]}"} apt-get update --quiet=2 >&2
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" >&2
}

# Make .venv where it is missing or was left half made.
make_venv() {
  local base="${PYTHON:-python3}"
  if [[ ! -x "$venv/bin/pip" ]]; then
    command -v "$base" >/dev/null ||
      fail "$base is not installed; Python 3.11 or newer is needed"
    "$base" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
      fail "$("$base" --version) is too old; set PYTHON to Python 3.11 or newer"
    printf 'making %s\n' "$venv" >&2
    "$base" -m venv "$venv" >&2 ||
      fail "$base -m venv failed; on Debian and Ubuntu it needs the package python3-venv"
  fi
}

# Install the project with these extras ("dev,vision") as an editable package, unless
# this checkout has done so with the same pyproject.toml and constraints.
install_project() {
  local extras="$1" stamp state
  stamp="$venv/installed-${extras//,/-}"
  make_venv
  state="$root $(cd "$root" && cksum pyproject.toml "$constraints")"
  if [[ -f "$stamp" && "$(<"$stamp")" == "$state" ]]; then
    return
  fi
  printf 'installing the project with [%s] into %s\n' "$extras" "$venv" >&2
  "$python" -m pip install --quiet --disable-pip-version-check \
    --constraint "$root/$constraints" --editable "$root[$extras]" >&2
  printf '%s\n' "$state" >"$stamp"
}

# Run the tests of a marker expression: two at a time, then one by one those that measure
# the machine or look at all of it. Further arguments go to pytest; where they leave
# nothing of one part, the other part decides.
run_tests() {
  local selection="$1" code=0 ran=false
  shift
  for part in "not alone" "alone"; do
    local at_once=()
    [[ "$part" == alone ]] || at_once=(-n 2)
    code=0
    "$python" -m pytest -m "($selection) and $part" ${at_once[@]+"${at_once[@]}"} "$@" ||
      code=$?
    case "$code" in
      0) ran=true ;;
      5) (($#)) || return 5 ;;
      *) return "$code" ;;
    esac
  done
  $ran || return 5
}
