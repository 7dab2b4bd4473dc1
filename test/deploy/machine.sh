#!/usr/bin/env bash
# Follows the operator's steps on an empty machine. Boots a minimal Debian with systemd, and runs in-machine.sh and
# nodes-in-machine.sh there. Both use the files of deploy/ and the commands of docs/. Run as root, after npm run build:
#
#   test/deploy/machine.sh [EXECUTABLE]
#
# Takes three to four minutes, two of them for making the Debian. The next run reuses this Debian if
# ANTEROOM_TEST_MACHINE names a folder for it.
# Prints the reason and exits with code 77 if it cannot run (no root, systemd-nspawn, debootstrap or mirror).
set -euo pipefail
cd "$(dirname "$0")/../.."
executable=$(realpath "${1:-dist/anteroom}")

skip() {
  echo "skipped: $1"
  exit 77
}
[[ $(id -u) == 0 ]] || skip 'booting a machine needs root'
for tool in systemd-nspawn debootstrap nsenter openssl; do
  command -v "$tool" > /dev/null || skip "there is no $tool"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/anteroom-machine-XXXXXX")
booted=
finish() {
  if [[ $booted ]]; then
    kill -TERM "$booted" 2> /dev/null || true
    for _ in $(seq 50); do kill -0 "$booted" 2> /dev/null || break; sleep 0.1; done
    kill -KILL "$booted" 2> /dev/null || true
    wait "$booted" 2> /dev/null || true
  fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

base=${ANTEROOM_TEST_MACHINE:-$work/base}
if [[ ! -e $base/usr/sbin/haproxy ]]; then
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,openssl,curl,nginx-light,haproxy,postgresql \
    bookworm "$base" > "$work/debootstrap.log" 2>&1 || skip "no Debian: $(tail -n 1 "$work/debootstrap.log")"
fi
cp -a "$base" "$work/machine"
mkdir "$work/machine/root/delivered"
cp "$executable" "$work/machine/root/delivered/anteroom-linux-x64"
find deploy -maxdepth 1 -type f -exec cp -t "$work/machine/root/delivered" {} +
cp test/deploy/in-machine.sh test/deploy/nodes-in-machine.sh "$work/machine/root/"

# The machine has only a loopback network, and the systemd of the host does not manage it.
systemd-nspawn --quiet --directory="$work/machine" --boot --register=no --keep-unit --private-network \
  --machine="$(basename "$work")" --console=pipe < /dev/null > "$work/boot.log" 2>&1 &
booted=$!
first_process() { cat "/proc/$booted/task/$booted/children" 2> /dev/null | tr -d ' '; }
inside() { nsenter --target "$(first_process)" --all --wdns=/root env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root "$@"; }
for attempt in $(seq 150); do
  if [[ $(inside systemctl is-system-running 2> /dev/null) =~ running|degraded ]]; then break; fi
  [[ $attempt != 150 ]] || skip "it does not boot: $(tail -n 1 "$work/boot.log")"
  sleep 0.2
done
inside bash /root/in-machine.sh
inside bash /root/nodes-in-machine.sh
