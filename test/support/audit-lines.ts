import {
  type AuditEntry,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  type AuditVerdict,
  checkLines,
} from '../../src/domain/audit'

const hash = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** Hashes without a key, for tests that need no secret. */
export const hashes: AuditHashes = {
  line: (text) => hash(`line ${text}`),
  seal: (text) => hash(`seal ${text}`),
}

export function verifyLines(
  state: AuditState,
  lines: Iterable<AuditLine>,
  noted: AuditHead | null,
  under = hashes,
): AuditVerdict {
  const check = checkLines(under, state, noted)
  for (const line of lines) {
    const fault = check.take(line)
    if (fault) return fault
  }
  return check.end()
}

const now = Date.UTC(2026, 11, 1, 12)

export const line = (index: number, different: Partial<AuditEntry> = {}): AuditEntry => ({
  at: now + index,
  actor: `operator ${index % 3}`,
  action: 'member.show',
  record: index % 2 ? `member ${index}` : null,
  outcome: 'done',
  ...different,
})
export const refusal = (index: number) =>
  line(index, { action: 'authentication.refuse', actor: '::1', outcome: 'token_invalid' })

/** Every third line is a refused authentication. */
export const tenLines = Array.from({ length: 10 }, (_, index) => (index % 3 === 2 ? refusal : line)(index))
