#!/usr/bin/env bash
# Builds deploy/Dockerfile without a daemon, on a base with this machine's C library. Runs the image as its user, with a
# read-only root and one writable folder. Run as root, after npm run build:
#
#   test/deploy/image.sh [EXECUTABLE]
#
# Prints the reason and exits with code 77 if it cannot run (no root, no buildah).
set -euo pipefail
cd "$(dirname "$0")/../.."
executable=$(realpath "${1:-dist/anteroom}")
skip() {
  echo "skipped: $1"
  exit 77
}
[[ $(id -u) == 0 ]] || skip 'building an image needs root'
for tool in buildah chroot unshare curl; do command -v "$tool" > /dev/null || skip "there is no $tool"; done
seen() { printf 'ok  %s\n' "$*"; }
wrong() {
  printf 'WRONG  %s\n' "$*"
  exit 1
}

work=$(mktemp -d "${TMPDIR:-/tmp}/anteroom-image-XXXXXX")
image() { BUILDAH_ISOLATION=chroot buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
served=
finish() {
  [[ ! $served ]] || kill -KILL "$served" 2> /dev/null || true
  image rm --all > /dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Makes a base image with the executable's shared libraries (ldd) and the user nonroot.
mkdir -p "$work/base/etc" "$work/context"
ldd "$executable" | grep -o '/[^ ]*' | while read -r library; do install -D "$library" "$work/base$library"; done
echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' > "$work/base/etc/passwd"
install -d "$work/base/home" "$work/base/run/secrets" "$work/base/proc" "$work/base/dev"
touch "$work/base/run/secrets/master-key"
install -d -m 700 -o 65532 -g 65532 "$work/base/home/nonroot"
from=$(image from scratch)
image copy --quiet "$from" "$work/base" / > /dev/null
image commit --quiet "$from" localhost/base > /dev/null
cp "$executable" "$work/context/anteroom"
image bud --quiet --format docker --build-arg BASE=localhost/base --tag anteroom --file deploy/Dockerfile "$work/context" > /dev/null
seen "built: user $(image inspect --type image --format '{{.Docker.Config.User}}' anteroom), $(image images --format '{{.Size}}' localhost/anteroom)"

# Mounts the files of the image read-only, and a folder of this machine as the writable home folder.
root=$(image mount "$(image from localhost/anteroom)")
files=$(find "$root" -type f ! -path '*/proc/*' | sed "s,^$root,," | sort | tr '\n' ' ')
seen "all of its files: $files"
install -d -m 700 -o 65532 -g 65532 "$work/volume"
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount --bind "$1" "$1"
    mount --bind "$2" "$1/home/nonroot"
    [[ ! -e $3 ]] || mount --bind "$3" "$1/run/secrets/master-key"
    mount -t proc proc "$1/proc"
    mount -o remount,ro,bind "$1"
    root=$1
    shift 3
    exec env -i ANTEROOM_DATABASE=/home/nonroot/anteroom.sqlite ANTEROOM_HOST=0.0.0.0 "$@"' - "$root" "$work/volume" "$work/master-key" "$@"
}
as() { inside "${@:2}" "$(command -v chroot)" --userspec=65532:65532 "$root" /usr/local/bin/anteroom $1; }
as init > /dev/null
mv "$work/volume/anteroom.sqlite.key" "$work/master-key"
key=ANTEROOM_MASTER_KEY_FILE=/run/secrets/master-key
port=$((20000 + RANDOM % 20000))
as serve "$key" ANTEROOM_PORT=$port ANTEROOM_BASE_URL=https://api.example.org ANTEROOM_BEHIND_PROXY=127.0.0.1/32 > "$work/log" 2>&1 &
served=$!
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/readyz" > /dev/null && break; sleep 0.05; done
curl -sf "http://127.0.0.1:$port/readyz" > /dev/null || wrong "it does not serve: $(cat "$work/log")"
seen 'it serves, read-only, as user 65532'
as status "$key" > "$work/status" || wrong "the health check: $(cat "$work/status")"
seen 'the health check: exit code 0'
process=$(pgrep -f "anteroom serve" -u 65532 -n)
since=$(date +%s%3N)
kill -TERM "$process"
code=0
wait "$served" || code=$?
served=
[[ $code == 0 ]] || wrong "after SIGTERM: exit code $code"
seen "stopped by SIGTERM: exit code 0, $(($(date +%s%3N) - since)) ms"
code=0
as status "$key" > "$work/status" || code=$?
[[ $code == 8 ]] || wrong "the health check of a stopped service: exit code $code"
seen 'the health check of a stopped service: exit code 8'
