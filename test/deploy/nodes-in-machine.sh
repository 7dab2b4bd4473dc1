#!/usr/bin/env bash
# Runs inside the machine that test/deploy/machine.sh boots. Starts two nodes on PostgreSQL behind HAProxy, with the files
# of deploy/.
# Prints a line for each check that passes, and stops at the first that fails.
set -euo pipefail
cd /root/delivered

seen() { printf 'ok  %s\n' "$*"; }
wrong() {
  printf 'WRONG  %s\n' "$*"
  journalctl --no-pager -n 40 -o cat
  exit 1
}
is() { [[ $3 == "$2" ]] || wrong "$1: $3, where $2 should be"; seen "$1: $3"; }
holds() { [[ $3 == *"$2"* ]] || wrong "$1: $3, where $2 should be in it"; seen "$1: $2"; }
# within SECONDS CHECK COMMAND…: repeats the command until it succeeds, and fails after SECONDS
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" > /dev/null 2>&1; do ((SECONDS < end)) || wrong "not in time: $what"; sleep 0.1; done
  seen "$what"
}

systemctl disable --now anteroom nginx anteroom-backup.timer anteroom-doctor.timer 2> /dev/null || true
rm -rf /etc/anteroom /etc/credstore.encrypted

# --- host names, and certificates of PostgreSQL, the nodes and the proxy, signed by a private authority
echo '127.0.0.1 db1.example.org node1.example.org node2.example.org api.example.org' >> /etc/hosts
made=/root/made
mkdir -m 700 $made
authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" -keyout "$made/$1.key" -out "$made/$1.pem" 2> /dev/null; }
# signed NAME SUBJECT-ALTERNATIVE-NAMES: creates a key and a certificate
signed() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$made/$1.key" -out "$made/$1.csr" 2> /dev/null
  openssl x509 -req -in "$made/$1.csr" -CA $made/ours.pem -CAkey $made/ours.key -CAcreateserial -days 30 \
    -extfile <(echo "subjectAltName=$2") -out "$made/$1.pem" 2> /dev/null
}
authority ours
signed db DNS:db1.example.org
signed node DNS:node1.example.org,DNS:node2.example.org
signed api DNS:api.example.org

# --- PostgreSQL, with deploy/postgresql.conf
install -m 644 postgresql.conf /etc/postgresql/15/main/conf.d/anteroom.conf
install -m 600 -o postgres -g postgres $made/db.key $made/db.pem /etc/postgresql/15/main/
echo "ssl = on
ssl_cert_file = '/etc/postgresql/15/main/db.pem'
ssl_key_file = '/etc/postgresql/15/main/db.key'" > /etc/postgresql/15/main/conf.d/tls.conf
systemctl restart postgresql
within 20 'PostgreSQL takes connections' pg_isready
as_admin() { (cd / && runuser -u postgres -- psql -qAt "$@"); }
as_admin -c "CREATE ROLE anteroom LOGIN PASSWORD 'canary-pw'" -c 'CREATE DATABASE anteroom OWNER anteroom'
as_admin -d anteroom -c 'GRANT pg_monitor TO anteroom'
is 'the password is kept as' SCRAM-SHA-256 "$(as_admin -c "SELECT split_part(rolpassword, '\$', 1) FROM pg_authid WHERE rolname = 'anteroom'")"

# --- the nodes, with deploy/anteroom@.service
install -m 755 anteroom-linux-x64 /usr/local/bin/anteroom
id anteroom > /dev/null 2>&1 || useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin anteroom
install -d -m 755 /etc/anteroom
install -m 644 $made/ours.pem /etc/anteroom/database-ca.pem
install -m 644 /dev/stdin /etc/anteroom/anteroom.env << 'END'
ANTEROOM_DATABASE=postgres://anteroom@db1.example.org/anteroom?sslmode=verify-full&sslrootcert=/etc/anteroom/database-ca.pem
ANTEROOM_BASE_URL=https://api.example.org
ANTEROOM_HOST=127.0.0.1
ANTEROOM_BEHIND_PROXY=127.0.0.1/32
ANTEROOM_TLS_CERTIFICATE=/etc/anteroom/tls/certificate.pem
ANTEROOM_TLS_KEY=/etc/anteroom/tls/certificate.key
END
install -d -m 700 -o anteroom -g anteroom /etc/anteroom/tls
install -m 400 -o anteroom -g anteroom $made/node.pem /etc/anteroom/tls/certificate.pem
install -m 400 -o anteroom -g anteroom $made/node.key /etc/anteroom/tls/certificate.key
install -d -m 700 /etc/credstore.encrypted
printf '*:5432:anteroom:anteroom:%s\n' canary-pw > /root/pgpass && chmod 600 /root/pgpass
systemd-creds encrypt --name=anteroom-pgpass /root/pgpass /etc/credstore.encrypted/anteroom-pgpass 2> /dev/null
PGPASSFILE=/root/pgpass anteroom init --settings /etc/anteroom/anteroom.env --master-key-file /root/master.key > /dev/null
systemd-creds encrypt --name=anteroom-master-key /root/master.key /etc/credstore.encrypted/anteroom-master-key 2> /dev/null
install -m 644 anteroom@.service anteroom-failed@.service /etc/systemd/system/
systemctl daemon-reload
is 'systemd-analyze verify' '' "$(systemd-analyze verify anteroom@8081.service 2>&1)"
systemctl enable --now anteroom@8081 anteroom@8082 2> /dev/null
node() { curl -sf --cacert $made/ours.pem "https://node1.example.org:$1/readyz"; }
within 10 'the first node is ready' node 8081
within 10 'the second node is ready' node 8082
is 'systemd-analyze security below 2' 1 "$(systemd-analyze security anteroom@8081.service | sed -n 's/.*level for [^:]*: \([0-9]*\).*/\1/p')"

# --- HAProxy, with deploy/haproxy.cfg
install -d -m 750 -g haproxy /etc/haproxy/tls
cat $made/api.pem $made/api.key | install -m 640 -g haproxy /dev/stdin /etc/haproxy/tls/anteroom.pem
install -m 644 $made/ours.pem /etc/haproxy/tls/nodes-ca.pem
sed 's/192.0.2.11:8080/127.0.0.1:8081/; s/192.0.2.12:8080/127.0.0.1:8082/' haproxy.cfg > /etc/haproxy/haproxy.cfg
is 'haproxy -c' 'Configuration file is valid' "$(haproxy -c -f /etc/haproxy/haproxy.cfg 2>&1)"
systemctl restart haproxy
https() { curl -s --max-time 5 --cacert $made/ours.pem "$@"; }
answers() { [[ $(https -o /dev/null -w '%{http_code}' https://api.example.org/partners/v1/user/) == "$1" ]]; }
within 10 'HAProxy hands on to the nodes' answers 401

# --- a partner, added by commands that get the systemd credentials of a node
as_node() {
  systemd-run --quiet --pipe --wait --uid=anteroom -E ANTEROOM_SETTINGS=/etc/anteroom/anteroom.env \
    -E ANTEROOM_OPERATOR="$(id -un "$(cat /proc/self/loginuid)" 2> /dev/null)" \
    -p LoadCredentialEncrypted=anteroom-master-key:/etc/credstore.encrypted/anteroom-master-key \
    -p LoadCredentialEncrypted=anteroom-pgpass:/etc/credstore.encrypted/anteroom-pgpass \
    /bin/sh -c 'PGPASSFILE=$CREDENTIALS_DIRECTORY/anteroom-pgpass exec anteroom "$@"' anteroom "$@"
}
as_node organization add 'North Care' > /dev/null
as_node partner add Lantern --organization 'North Care' > /dev/null
TOKEN=$(as_node token issue Lantern | grep -o 'ey[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*')
install -m 644 /dev/stdin /tmp/nodes-directory.json << 'END'
{ "regions": [{ "countryCode": "CA", "stateProvinceCode": "ON", "stateProvinceNameLocal": "Ontario", "stateProvinceLabel": "Province" }],
  "providers": [{ "ref": "on-001", "firstName": "Marlow", "lastName": "Fernhill", "timeZone": "America/Toronto",
    "languagesSpoken": ["en-CA"], "modalities": ["in-video"], "licenses": [{ "region": "CA-ON", "from": "2024-01-01" }],
    "workingHours": [{ "weekdays": ["monday", "tuesday", "wednesday", "thursday", "friday"], "start": "09:00", "end": "17:00" }] }] }
END
as_node directory load /tmp/nodes-directory.json --yes > /dev/null
holds 'status sees both' 'up, 2 of 2 servers' "$(as_node status)"

# --- each node sees a booking and a deactivated partner
api() { https -w ' %{http_code}' -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "https://api.example.org/partners/v1/$1" "${@:2}"; }
found=$(api 'providers/?region_id=1')
slot() { grep -o '{"utc[^}]*}' <<< "$found" | sed -n "$1p"; }
book() {
  api booking-request/ -d '{"user": {"external_user_id": "m-'"$1"'"}, "bookingData": {"selfSchedulingProviderId": 1, '"$(slot "$2" | tail -c +2)"',
    "memberData": {"email": "m'"$1"'@example.com", "firstName": "Robin", "lastName": "Sample", "country": "CA"}, "phq9Data": []}'
}
holds 'a booking' '"providerId":1' "$(book 1 3)"
holds 'the same slot again' '} 400' "$(book 2 3)"
at() { https -w ' %{http_code}' -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Forwarded-Proto: https' "https://node1.example.org:$1/partners/v1/user/?external_user_id=m-1"; }
for port in 8081 8082; do holds "the member at $port" '"externalUserId":"m-1"' "$(at $port)"; done
as_node partner deactivate Lantern --yes > /dev/null
for port in 8081 8082; do holds "a deactivated partner at $port" partner_inactive "$(at $port)"; done
as_node partner reactivate Lantern > /dev/null
holds 'past the balancer without its fields' '} 403' "$(https -w ' %{http_code}' -H "Authorization: Bearer $TOKEN" https://node1.example.org:8081/partners/v1/user/?external_user_id=m-1)"

# --- nodes restart one after the other, and no request fails
rm -f /tmp/statuses
(while [[ ! -e /tmp/enough ]]; do api 'user/?external_user_id=m-1' -o /dev/null >> /tmp/statuses; done) &
for port in 8081 8082; do
  systemctl restart anteroom@$port
  within 10 "$port is ready again" node $port
  # HAProxy uses a restarted node only after its next health checks.
  sleep 3
done
touch /tmp/enough
wait
is 'the answers meanwhile' 200 "$(tr -s ' ' '\n' < /tmp/statuses | sed '/^$/d' | sort | uniq -c | sort -rn | awk '{ print $2 }' | paste -sd ' ')"
seen "of $(wc -w < /tmp/statuses) requests"

# --- a killed node is started again, and the other node keeps serving
systemctl kill --signal=KILL anteroom@8081
holds 'a look-up at once' '} 200' "$(api 'user/?external_user_id=m-1')"
within 10 'the killed one is ready again' node 8081

# --- PostgreSQL stops: requests get 503 with Retry-After, and a starting node waits for PostgreSQL
systemctl stop postgresql
within 10 'without a database they are refused' answers 503
holds 'with' 'etry-' "$(https -D - -o /dev/null -H "Authorization: Bearer $TOKEN" 'https://api.example.org/partners/v1/user/?external_user_id=m-1' | grep -i '^retry-after')"
systemctl restart anteroom@8082
sleep 3
holds 'what a node says that finds no server' 'no server answers' "$(journalctl -u anteroom@8082 -n 20 -o cat --no-pager)"
systemctl start postgresql
within 15 'it comes up with the server' node 8082
within 10 'the other has its database again' node 8081
within 10 'HAProxy hands on again' answers 401
holds 'a booking after it' '"providerId":1' "$(book 3 5)"

# --- the daily doctor run
install -m 644 anteroom-doctor.service /etc/systemd/system/
install -D -m 644 doctor-on-postgresql.conf /etc/systemd/system/anteroom-doctor.service.d/on-postgresql.conf
systemctl daemon-reload
is 'systemd-analyze verify of the doctor' '' "$(systemd-analyze verify anteroom-doctor.service 2>&1)"
systemctl start anteroom-doctor || wrong "the doctor: $(journalctl -u anteroom-doctor -n 60 -o cat --no-pager)"
holds 'the doctor' 'encrypted, TLS' "$(journalctl -u anteroom-doctor -n 60 -o cat --no-pager)"
holds 'it finds no fault' ' no faults' "$(journalctl -u anteroom-doctor -n 60 -o cat --no-pager | grep ^integrity)"

# --- no password, token or personal data in logs or command lines
is 'passwords, tokens and people in the journal and the logs' '' "$(journalctl --no-pager -o cat | grep -oE 'canary-pw|eyJ[A-Za-z0-9_-]{9}|m[0-9]@example.com|external_user_id' | sort -u)$(grep -hoE 'canary-pw|m[0-9]@example.com' /var/log/postgresql/*.log | sort -u)"
is 'passwords in the words of processes' '' "$(grep -zl canary-pw /proc/[0-9]*/cmdline 2> /dev/null || true)"
