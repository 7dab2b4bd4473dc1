#!/usr/bin/env bash
# Runs inside the machine that test/deploy/machine.sh boots. Installs the service, books, makes and restores backups, and
# upgrades.
# Prints a line for each check that passes, and stops at the first that fails.
set -euo pipefail
cd /root/delivered

seen() { printf 'ok  %s\n' "$*"; }
wrong() {
  printf 'WRONG  %s\n' "$*"
  journalctl --no-pager -n 40 -o cat
  exit 1
}
since=$(date +%s%3N)
took() { echo "$(($(date +%s%3N) - since)) ms"; since=$(date +%s%3N); }
# is CHECK EXPECTED ACTUAL: passes if EXPECTED equals ACTUAL
# holds CHECK PART ACTUAL: passes if ACTUAL contains PART
is() { [[ $3 == "$2" ]] || wrong "$1: $3, where $2 should be"; seen "$1: $3"; }
holds() { [[ $3 == *"$2"* ]] || wrong "$1: $3, where $2 should be in it"; seen "$1: $2"; }

# --- install, with the commands of docs/deploying.md (test/docs.system.test.ts checks that the page has the same commands)
install -m 755 anteroom-linux-x64 /usr/local/bin/anteroom
useradd --system --home-dir /var/lib/anteroom --shell /usr/sbin/nologin anteroom
install -d -m 700 -o anteroom -g anteroom /var/lib/anteroom
runuser -u anteroom -- anteroom init --database /var/lib/anteroom/anteroom.sqlite > /dev/null
install -d -m 755 /etc/anteroom
install -d -m 700 /etc/credstore.encrypted
printf '%s\n' ANTEROOM_BASE_URL=https://api.example.org ANTEROOM_BEHIND_PROXY=127.0.0.1/32 > /etc/anteroom/anteroom.env
systemd-creds encrypt --name=anteroom-master-key /var/lib/anteroom/anteroom.sqlite.key /etc/credstore.encrypted/anteroom-master-key 2> /dev/null
mkdir /root/elsewhere
mv -n /var/lib/anteroom/anteroom.sqlite.key /root/elsewhere/
install -m 644 anteroom.service anteroom-failed@.service /etc/systemd/system/
install -d -m 700 -o anteroom -g anteroom /var/backups/anteroom
install -m 644 anteroom-backup.service anteroom-backup.timer anteroom-doctor.service anteroom-doctor.timer anteroom-failed@.service /etc/systemd/system/
systemctl daemon-reload
is 'systemd-analyze verify' '' "$(systemd-analyze verify anteroom.service anteroom-backup.service anteroom-backup.timer anteroom-doctor.service anteroom-doctor.timer anteroom-failed@x.service 2>&1)"
since=$(date +%s%3N)
systemctl enable --now anteroom 2> /dev/null
ready() {
  for _ in $(seq 100); do curl -sf "$@" > /dev/null && return; sleep 0.05; done
  wrong "not ready: $*"
}
ready http://127.0.0.1:8080/readyz
seen "the service is up: $(took)"

score() { systemd-analyze security "$1" | sed -n 's/.*level for [^:]*: \([0-9.]*\).*/\1/p'; }
for unit in anteroom anteroom-backup anteroom-doctor; do
  value=$(score $unit.service)
  [[ ${value%.*} -lt 2 ]] || wrong "systemd-analyze security $unit: $value"
  seen "systemd-analyze security $unit: $value"
done

# --- nginx with TLS
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
    -addext subjectAltName=DNS:api.example.org -keyout "$2/privkey.pem" -out "$2/fullchain.pem" 2> /dev/null
}
install -d -m 700 /etc/ssl/anteroom
certificate first /etc/ssl/anteroom
install -m 644 nginx.conf /etc/nginx/conf.d/anteroom.conf
rm -f /etc/nginx/sites-enabled/default
holds 'nginx -t' 'test is successful' "$(nginx -t 2>&1)"
systemctl reload-or-restart nginx
https() { curl -s --cacert /etc/ssl/anteroom/fullchain.pem --resolve api.example.org:443:127.0.0.1 "$@"; }
sleep 0.3

# --- a partner, added by commands that get the master key as a systemd credential
as_service() {
  systemd-run --quiet --pipe --wait --uid=anteroom -E ANTEROOM_DATABASE=/var/lib/anteroom/anteroom.sqlite \
    -E ANTEROOM_OPERATOR="$(id -un "$(cat /proc/self/loginuid)" 2> /dev/null)" \
    -p LoadCredentialEncrypted=anteroom-master-key:/etc/credstore.encrypted/anteroom-master-key anteroom "$@"
}
as_service organization add 'North Care' > /dev/null
as_service partner add Lantern --organization 'North Care' > /dev/null
TOKEN=$(as_service token issue Lantern | grep -o 'ey[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*')
install -m 644 /dev/stdin /tmp/directory.json << 'END'
{ "regions": [{ "countryCode": "CA", "stateProvinceCode": "ON", "stateProvinceNameLocal": "Ontario", "stateProvinceLabel": "Province" }],
  "providers": [{ "ref": "on-001", "firstName": "Marlow", "lastName": "Fernhill", "timeZone": "America/Toronto",
    "languagesSpoken": ["en-CA"], "modalities": ["in-video"], "licenses": [{ "region": "CA-ON", "from": "2024-01-01" }],
    "workingHours": [{ "weekdays": ["monday", "tuesday", "wednesday", "thursday", "friday"], "start": "09:00", "end": "17:00" }] }] }
END
as_service directory load /tmp/directory.json --yes > /dev/null
seen "a partner with a token, a directory: $(took)"

# --- the four operations of the partner API
api() { https -w ' %{http_code}' -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "https://api.example.org/partners/v1/$1" "${@:2}"; }
holds 'regions over HTTPS' '"stateProvinceCode":"ON"' "$(api 'provider-regions/?country_code=CA')"
found=$(api 'providers/?region_id=1')
holds 'providers over HTTPS' '"providerId":1' "$found"
slot() { grep -o '{"utc[^}]*}' <<< "$found" | sed -n "$1p"; }
book() {
  api booking-request/ -d '{"user": {"external_user_id": "m-'"$1"'"}, "bookingData": {"selfSchedulingProviderId": 1, '"$(slot "$2" | tail -c +2)"',
    "memberData": {"email": "m'"$1"'@example.com", "firstName": "Robin", "lastName": "Sample", "country": "CA"}, "phq9Data": []}'
}
holds 'a booking over HTTPS' '"providerId":1' "$(book 1 3)"
holds 'the look-up over HTTPS' '"externalUserId":"m-1"' "$(api 'user/?external_user_id=m-1')"
seen "the four operations: $(took)"
holds 'without HTTPS' '"status":403} 403' "$(curl -s -w ' %{http_code}' --resolve api.example.org:80:127.0.0.1 -H "Authorization: Bearer $TOKEN" "http://api.example.org/partners/v1/provider-regions/?country_code=CA")"
holds 'past the proxy without X-Forwarded-Proto' '"status":403} 403' "$(curl -s -w ' %{http_code}' -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:8080/partners/v1/provider-regions/?country_code=CA")"
holds 'another path' '"status":404} 404' "$(https -w ' %{http_code}' https://api.example.org/readyz)"
holds 'another host' '"status":421} 421' "$(https -w ' %{http_code}' -H 'Host: evil.example' https://api.example.org/partners/v1/user/)"

# --- backups
systemctl start anteroom-doctor 2> /dev/null && wrong 'the doctor finds no fault with no backup'
is 'the doctor without a backup' 8 "$(systemctl show -P ExecMainStatus anteroom-doctor)"
holds 'what has failed' anteroom-doctor.service "$(systemctl --failed --plain --no-legend)"
systemctl start anteroom-backup
backup=$(ls /var/backups/anteroom/*.age)
seen "a backup: $(stat -c '%n, %s bytes, mode %a, %U' "$backup") in $(took)"
holds 'the backup can be restored' 'Created the database' "$(as_service restore "$backup" --to /var/lib/anteroom/tried.sqlite --yes)"
rm -f /var/lib/anteroom/tried.sqlite*
touch -d '40 days ago' /var/backups/anteroom/20200101T000000Z.age
touch -d '20 days ago' /var/backups/anteroom/20200201T000000Z.age
sleep 1.1
# Makes the backup timer start a backup after one second.
install -D -m 644 /dev/stdin /etc/systemd/system/anteroom-backup.timer.d/soon.conf << 'END'
[Timer]
OnActiveSec=1s
RandomizedDelaySec=0
AccuracySec=100ms
END
systemctl daemon-reload
systemctl enable --now anteroom-backup.timer anteroom-doctor.timer 2> /dev/null
for _ in $(seq 60); do [[ -e /var/backups/anteroom/20200101T000000Z.age ]] || break; sleep 0.1; done
[[ ! -e /var/backups/anteroom/20200101T000000Z.age ]] || wrong 'a backup of 40 days stays'
is 'the timer made a second one, 40 days went and 20 days stay' 3 "$(ls /var/backups/anteroom | wc -l)"
rm /etc/systemd/system/anteroom-backup.timer.d/soon.conf
systemctl daemon-reload
chown root /var/backups/anteroom
systemctl start anteroom-backup 2> /dev/null && wrong 'a backup into a folder of another was made'
chown anteroom /var/backups/anteroom
is 'a backup that failed' failed "$(systemctl is-failed anteroom-backup)"
sleep 0.5
holds 'its alert' 'anteroom-backup.service failed' "$(journalctl -p alert -o cat --no-pager)"
mv /var/backups/anteroom /var/backups/away
systemctl start anteroom-backup 2> /dev/null && wrong 'a backup into no folder was made'
holds 'no folder for backups' 'no such file or folder' "$(journalctl -u anteroom-backup -n 6 -o cat --no-pager)"
mv /var/backups/away /var/backups/anteroom
systemctl start anteroom-backup
systemctl start anteroom-doctor
is 'the doctor' success "$(systemctl show -P Result anteroom-doctor)"
seen "backups and looks: $(took)"

# --- reload with a changed setting, and a second booking
before=$(systemctl show -P MainPID anteroom)
limit() { https -o /dev/null -D - -H "Authorization: Bearer $TOKEN" 'https://api.example.org/partners/v1/provider-regions/?country_code=CA' | grep -i '^ratelimit-policy'; }
holds 'what a partner may read' 30000 "$(limit)"
echo ANTEROOM_READS_PER_MINUTE=1234 >> /etc/anteroom/anteroom.env
systemctl reload anteroom
sleep 0.5
holds 'what a partner may read after a reload' 1234 "$(limit)"
is 'the process after a reload is the same' "$before" "$(systemctl show -P MainPID anteroom)"
holds 'a booking after the reload' '"providerId":1' "$(book 2 5)"

# --- a SIGHUP right after the start may end the service; systemd starts the service again
systemctl restart anteroom
systemctl kill --signal=HUP anteroom
ready http://127.0.0.1:8080/readyz
seen 'it is up after a SIGHUP in its first moment'

# --- the service runs even if each system call that the unit filters would kill the process
install -D -m 644 /dev/stdin /etc/systemd/system/anteroom.service.d/strict.conf << 'END'
[Service]
SystemCallErrorNumber=kill
END
cp -r /etc/systemd/system/anteroom.service.d /etc/systemd/system/anteroom-backup.service.d
systemctl daemon-reload
systemctl restart anteroom
ready http://127.0.0.1:8080/readyz
holds 'a booking where a filtered call would kill' '"providerId":1' "$(book 3 7)"
systemctl start anteroom-backup
is 'starts after that' 0 "$(systemctl show -P NRestarts anteroom)"
rm -r /etc/systemd/system/anteroom.service.d /etc/systemd/system/anteroom-backup.service.d
systemctl daemon-reload
systemd-run --quiet --pipe --wait -p MemoryDenyWriteExecute=yes anteroom version > /dev/null 2>&1 && seen 'MemoryDenyWriteExecute: it starts all the same' ||
  seen "MemoryDenyWriteExecute: it does not start, exit $?"

# --- stop, and restore from the last backup
last=$(ls /var/backups/anteroom/2*.age | sort | tail -n 1)
since=$(date +%s%3N)
systemctl stop anteroom
seen "stopped in $(took)"
is 'its exit' 'success 0' "$(systemctl show -P Result anteroom) $(systemctl show -P ExecMainStatus anteroom)"
cd /var/lib/anteroom
runuser -u anteroom -- mkdir aside
mv anteroom.sqlite* aside/
restored=$(systemd-run --quiet --pipe --wait --uid=anteroom -p WorkingDirectory=/var/lib/anteroom -E ANTEROOM_DATABASE=/var/lib/anteroom/anteroom.sqlite \
  -p LoadCredentialEncrypted=anteroom-master-key:/etc/credstore.encrypted/anteroom-master-key \
  anteroom restore "$last" --to anteroom.sqlite --against aside/anteroom.sqlite --yes)
holds 'restore' 'Created the database' "$restored"
systemctl start anteroom
ready http://127.0.0.1:8080/readyz
holds 'the member booked before the backup' '"externalUserId":"m-3"' "$(api 'user/?external_user_id=m-3')"
seen "restored: $(took)"

# --- an upgrade: the new executable is installed under another name, then renamed
cd /root/delivered
install -m 755 anteroom-linux-x64 /usr/local/bin/anteroom.new
mv /usr/local/bin/anteroom.new /usr/local/bin/anteroom
systemctl restart anteroom
ready http://127.0.0.1:8080/readyz
seen "another executable: $(took)"

# --- HTTPS by the service itself
systemctl stop nginx
install -m 600 /etc/ssl/anteroom/fullchain.pem /etc/anteroom/certificate.pem
install -m 600 /etc/ssl/anteroom/privkey.pem /etc/anteroom/certificate.key
echo ANTEROOM_BASE_URL=https://api.example.org > /etc/anteroom/anteroom.env
install -D -m 644 own-certificate.conf /etc/systemd/system/anteroom.service.d/own-certificate.conf
systemctl daemon-reload
systemctl restart anteroom
ready --cacert /etc/ssl/anteroom/fullchain.pem --resolve api.example.org:443:127.0.0.1 https://api.example.org/readyz
is 'systemd-analyze verify of the drop-in' '' "$(systemd-analyze verify anteroom.service 2>&1)"
holds 'a booking by its own certificate' '"providerId":1' "$(book 4 9)"
seen "systemd-analyze security by its own certificate: $(score anteroom.service)"
certificate second /etc/anteroom
mv /etc/anteroom/fullchain.pem /etc/anteroom/certificate.pem
mv /etc/anteroom/privkey.pem /etc/anteroom/certificate.key
chmod 600 /etc/anteroom/certificate.*
systemctl restart anteroom
sleep 1
holds 'a renewed certificate' 'CN = second' "$(openssl s_client -connect 127.0.0.1:443 -servername api.example.org < /dev/null 2> /dev/null | openssl x509 -noout -subject)"
# A reload loads a renewed certificate if the settings name its files.
install -d -m 700 -o anteroom -g anteroom /etc/anteroom/tls
own_files() {
  certificate "$1" /tmp
  install -m 400 -o anteroom -g anteroom /tmp/fullchain.pem /etc/anteroom/tls/certificate.pem
  install -m 400 -o anteroom -g anteroom /tmp/privkey.pem /etc/anteroom/tls/certificate.key
}
own_files third
sed -e '/^ExecStart=.*%d/d' -e '/^LoadCredential=/d' -e 's/^#ExecStart/ExecStart/' /root/delivered/own-certificate.conf > /etc/systemd/system/anteroom.service.d/own-certificate.conf
systemctl daemon-reload
systemctl restart anteroom
sleep 1
shown() { openssl s_client -connect 127.0.0.1:443 -servername api.example.org < /dev/null 2> /dev/null | openssl x509 -noout -subject; }
holds 'a certificate in a file' 'CN = third' "$(shown)"
before=$(systemctl show -P MainPID anteroom)
own_files fourth
systemctl reload anteroom
sleep 0.5
holds 'renewed by a reload' 'CN = fourth' "$(shown)"
is 'in the same process' "$before" "$(systemctl show -P MainPID anteroom)"
systemctl stop anteroom
is 'its exit by its own certificate' 'success 0' "$(systemctl show -P Result anteroom) $(systemctl show -P ExecMainStatus anteroom)"
seen 'all of it'
