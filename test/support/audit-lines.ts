import {
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
