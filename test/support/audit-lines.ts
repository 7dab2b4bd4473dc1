import {
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  type AuditVerdict,
  checkLines,
} from '../../src/domain/audit'

const hash = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** Hashes for tests that hold the key of a log to be a secret. */
export const hashes: AuditHashes = {
  line: (text) => hash(`line ${text}`),
  seal: (text) => hash(`seal ${text}`),
}

/** Checks lines that are all there. */
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
