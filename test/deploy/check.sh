#!/usr/bin/env bash
# Checks the files of deploy/ with the tools that read them. Prints a line for each tool that is not installed.
# Takes a second, and does not run the service. machine.sh, image.sh and the tests in this folder run the service.
set -euo pipefail
cd "$(dirname "$0")/../../deploy"
# Debian installs nginx in a folder that only root has in its PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin

failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# has TOOL: passes if the tool is installed
has() { command -v "$1" > /dev/null || { echo "skipped: there is no $1"; return 1; }; }
# expect_silent CHECK OUTPUT: passes if the output is empty
expect_silent() { if [[ -z $2 ]]; then echo "ok  $1"; else printf 'WRONG  %s\n%s\n' "$1" "$2"; failed=1; fi; }
# Prints the output of a command only if it fails.
fault_of() { local said; said=$("$@" 2>&1) || printf '%s\n' "$said" "exit code $?"; }

if has systemd-analyze; then
  mkdir -p "$work/units/anteroom.service.d"
  cp ./*.service ./*.timer "$work/units/"
  # Ignores the complaint that the executable is not installed on this machine.
  expect_silent 'systemd-analyze verify' "$(systemd-analyze verify "$work"/units/*.service "$work"/units/*.timer 2>&1 | grep -v 'Command /usr/local/bin/anteroom is not executable' || true)"
  cp own-certificate.conf "$work/units/anteroom.service.d/"
  for unit in ./anteroom.service ./anteroom@.service ./anteroom-backup.service ./anteroom-doctor.service "$work/units/anteroom.service"; do
    said=$(systemd-analyze security --offline=true --threshold=19 --no-pager "$unit" 2>&1) && said= || said=$(tail -n 1 <<< "$said")
    expect_silent "systemd-analyze security below 2.0: ${unit/$work\/units\/anteroom.service/own-certificate.conf}" "$said"
  done
fi

certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=api.example.org \
    -keyout "$work/privkey.pem" -out "$work/fullchain.pem" 2> /dev/null
}
if has openssl && certificate; then
  if has nginx; then
    sed "s,/etc/ssl/anteroom,$work,g; s,/var/log/nginx,$work,g" nginx.conf > "$work/site.conf"
    printf 'pid %s;\nevents {}\nhttp {\naccess_log off;\ninclude %s;\n}\n' "$work/pid" "$work/site.conf" > "$work/nginx.conf"
    expect_silent 'nginx -t' "$(nginx -t -q -e stderr -p "$work" -c "$work/nginx.conf" 2>&1 || true)"
  fi
fi
if has haproxy && [[ -e $work/privkey.pem ]]; then
  cat "$work/fullchain.pem" "$work/privkey.pem" > "$work/anteroom.pem"
  sed "s,/etc/haproxy/tls/nodes-ca.pem,$work/fullchain.pem,; s,/etc/haproxy/tls,$work,; /^\t\(user\|group\|chroot\) /d" haproxy.cfg > "$work/haproxy.cfg"
  expect_silent 'haproxy -c' "$(haproxy -c -f "$work/haproxy.cfg" 2>&1 | grep -v '^Configuration file is valid$' || true)"
fi
# PostgreSQL checks its own settings file. PostgreSQL refuses to run as root.
postgres=$(ls /usr/lib/postgresql/*/bin/postgres 2> /dev/null | tail -n 1)
if [[ -z $postgres ]]; then
  echo 'skipped: there is no postgres'
else
  mkdir -m 755 "$work/postgres"
  cp postgresql.conf "$work/postgres/"
  chmod 755 "$work"
  as=()
  [[ $(id -u) != 0 ]] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  expect_silent 'postgres takes the settings' "$("${as[@]}" "$postgres" -C fsync --config-file="$work/postgres/postgresql.conf" -D "$work/postgres" 2>&1 | grep -vxE 'on|.*postgresql.auto.conf.*' || true)"
fi
if has hadolint; then expect_silent hadolint "$(hadolint Dockerfile 2>&1 || true)"; fi
exit "$failed"
