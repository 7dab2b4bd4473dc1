import type { Command } from 'commander'

/** Lines as they are typed, by the command that they show: what the help of each ends with. */
const commandExamples: Readonly<Record<string, readonly string[]>> = {
  serve: ['anteroom serve --base-url https://booking.example.org --port 8080'],
  'organization add': ["anteroom organization add 'North Care'"],
  'organization list': ['anteroom organization list --json | jq -r .[].name'],
  'organization rename': ["anteroom organization rename 'North Care' 'North Health'"],
  'organization deactivate': ["anteroom organization deactivate 'North Care'"],
  'organization reactivate': ["anteroom organization reactivate 'North Care'"],
  'partner add': ["anteroom partner add Lantern --organization 'North Care'"],
  'partner list': ['anteroom partner list'],
  'partner show': ['anteroom partner show Lantern'],
  'partner rename': ["anteroom partner rename Lantern 'Lantern Health'"],
  'partner set-organization': ["anteroom partner set-organization Lantern 'North Care'"],
  'partner set-rates': ['anteroom partner set-rates Lantern --bookings-per-minute 60'],
  'partner deactivate': ['anteroom partner deactivate Lantern'],
  'partner reactivate': ['anteroom partner reactivate Lantern'],
  'token issue': ['anteroom token issue Lantern --output lantern.token'],
  'token rotate': [
    'anteroom token rotate Lantern --cutover 2026-12-01T14:00:00Z',
    'anteroom token rotate Lantern',
  ],
  'token cancel': ['anteroom token cancel Lantern'],
  'token list': ['anteroom token list --json > tokens.json'],
  'token revoke': ['anteroom token revoke Lantern'],
  'directory check': ['anteroom directory check export/'],
  'directory load': [
    'anteroom directory load export/ --dry-run',
    'anteroom directory load export/ --max-changes 5% --yes',
  ],
  'directory export': [
    'anteroom directory export --format csv --to export/',
    'anteroom directory export --table licenses > licenses.csv',
  ],
  'provider list': ['anteroom provider list --region CA-ON', 'anteroom provider list --name fernhill'],
  'provider show': ['anteroom provider show on-001'],
  'provider slots': ['anteroom provider slots on-001'],
  'provider why': ['anteroom provider why on-001 2026-12-01T14:00:00Z'],
  'provider deactivate': ['anteroom provider deactivate on-001'],
  'provider reactivate': ['anteroom provider reactivate on-001'],
  'provider time-off remove': ['anteroom provider time-off remove on-001 2026-12-21 2026-12-24'],
  'provider time-off list': ['anteroom provider time-off list on-001'],
  'request suggest': ['anteroom request suggest 42 --limit 3'],
  'request assign': [
    'anteroom request assign 42 --provider on-001',
    'anteroom request assign 42 --provider on-001 --slot 2026-12-01T14:00:00Z',
  ],
  'request accept': ['anteroom request accept 42'],
  'request move': [
    'anteroom request move 42 --slot 2026-12-01T14:00:00Z',
    'anteroom request move 42 --slot 2026-12-01T14:00:00Z --provider on-002',
  ],
  'request decline': [
    "anteroom request decline 42 --reason 'Found somebody nearer.'",
    'anteroom request decline --partner Lantern --since 2026-12-01T14:00:00Z',
  ],
  'request close': ["anteroom request close 42 --reason 'Sent twice.'"],
  'request acknowledge': ['anteroom request acknowledge 42'],
  'request note': ["anteroom request note 42 'Rings back after six.'", 'anteroom request note 42 -'],
  'request notes': ['anteroom request notes 42'],
  'member deactivate': ['anteroom member deactivate 42'],
  'member reactivate': ['anteroom member reactivate 42'],
  'member export': ['anteroom member export 42 --output member-42.json'],
  'member release-email': ['anteroom member release-email 42'],
  'member erase': ['anteroom member erase --partner Lantern --external-id P-123'],
  'audit export': ['anteroom audit export > audit.jsonl'],
  'audit head': ['anteroom audit head'],
  'audit verify': ['anteroom audit verify'],
  'audit prune': ['anteroom audit prune --before 2025-01-01T00:00:00Z --output 2024.jsonl'],
  'backup drill': ['anteroom backup drill'],
  restore: ['anteroom restore day.age --identity-file key.txt --to new.sqlite'],
  status: ['anteroom status --json | jq -e \'.service.state == "up"\''],
  doctor: ['anteroom doctor --backup-max-age 36h'],
  appointments: [
    'anteroom appointments --on tomorrow --provider on-001',
    'anteroom appointments --zone America/Toronto --format ics > today.ics',
  ],
  'audit list': [
    "anteroom audit list --record 'request 42' --action request.read-screening",
    'anteroom audit list --member 42 --since 2026-12-01T00:00:00Z',
    'anteroom audit list --partner Lantern --action authentication.refuse',
  ],
  'provider away': [
    'anteroom provider away on-001 tomorrow tomorrow',
    'anteroom provider away on-001 today 2026-12-04 --dry-run',
  ],
  completion: [
    'anteroom completion bash > /etc/bash_completion.d/anteroom',
    'anteroom completion zsh > /usr/local/share/zsh/site-functions/_anteroom',
    'anteroom completion fish > ~/.config/fish/completions/anteroom.fish',
  ],
  init: [
    'anteroom init --database /var/lib/anteroom/anteroom.sqlite',
    'anteroom init --database anteroom.sqlite --master-key-file /etc/anteroom/master.key',
  ],
  'database copy': [
    'anteroom database copy --from anteroom.sqlite --to postgres://anteroom@127.0.0.1/anteroom',
    'anteroom database copy --from postgres://anteroom@127.0.0.1/anteroom --to anteroom.sqlite --master-key-file master.key',
  ],
  'database reactivate': ['anteroom database reactivate --database anteroom.sqlite'],
  migrate: ['anteroom migrate --database /var/lib/anteroom/anteroom.sqlite'],
  'key rotate': ['anteroom key rotate', 'anteroom key rotate --new-key-file /etc/anteroom/new.key --yes'],
  'member find': [
    "anteroom member find 'lovelace'",
    "anteroom member find '416 555 0100' --json | jq -r .[].id",
  ],
  'member show': ['anteroom member show 42', 'anteroom member show --partner Lantern --external-id P-123'],
  'request list': [
    'anteroom request list --risk',
    'anteroom request list --state waiting --age 3d --sort slot',
    'anteroom request list --provider on-1 --on 2026-12-01 --json | jq -r .[].id',
  ],
  'request show': [
    'anteroom request show 42 --screening',
    'anteroom request show 42 --json | jq -r .contact.phoneNumber',
  ],
  sandbox: [
    'anteroom sandbox',
    'anteroom sandbox --port 0 --now 2026-12-01T09:00:00Z --json',
    'anteroom sandbox --database sandbox.sqlite --providers 10000',
  ],
  'token verify': ['anteroom token verify --kid jVFHDmJjUow0fpJH', 'anteroom token verify < token.txt'],
  version: [
    'anteroom version',
    'anteroom version --json | jq -r .commit',
    'anteroom version --licenses | less',
  ],
}

/** Ends the help of a command with its examples, where there are some. @param words by which it is called */
export function showExamples(command: Command, words: string): void {
  const lines = commandExamples[words]
  if (lines) command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
}
