import { readFileSync } from 'node:fs'

/** Who gives the command, for the audit log. */
export function operator(): string {
  return describeOperator(process.getuid?.() ?? null, process.env.SUDO_UID, readAccounts())
}

/**
 * An operator by the system's records, which they cannot choose: `operator root (sudo by 1000 olive)`.
 *
 * @param uid null on a system that has none
 * @param sudoUid what SUDO_UID says: believed of root alone, since anybody else can set it for themselves
 * @param accounts the lines of /etc/passwd (passwd(5)); a number that has none there stands for itself
 */
export function describeOperator(uid: number | null, sudoUid: string | undefined, accounts: string): string {
  if (uid === null) return 'operator unknown'
  const names = new Map(accounts.split('\n').map((line) => [line.split(':')[2], line.split(':')[0]]))
  const name = names.get(String(uid)) ?? uid
  if (uid !== 0 || sudoUid === undefined || !/^[1-9]\d{0,9}$/.test(sudoUid)) return `operator ${name}`
  return `operator ${name} (sudo by ${[sudoUid, names.get(sudoUid)].filter(Boolean).join(' ')})`
}

function readAccounts(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
