import type { AuditVerdict } from '../../src/domain/audit'
import { Refusal } from '../../src/domain/errors'
import { type Finding, finding } from '../../src/domain/ports/maintenance'

const mostNamed = 20

export function named(fault: string, records: readonly string[], separator = ', '): string {
  const more = records.length > mostNamed ? ` and ${records.length - mostNamed} more` : ''
  return records.length > 0 ? `${fault}: ${records.slice(0, mostNamed).join(separator)}${more}` : ''
}

export function auditFinding(verdict: AuditVerdict): Finding {
  if (!verdict.intact) return finding('audit log', `broken at line ${verdict.id}: ${verdict.fault}`, '')
  return finding('audit log', undefined, `intact up to line ${verdict.head.id}`)
}

/** @param sample describes the decrypted values, for example `1000 members, 12 notes`; null if all were decrypted */
export function sealedFinding(
  unreadable: readonly string[],
  misplaced: readonly string[],
  sample: string | null,
): Finding {
  const faults = [
    named('cannot be opened', unreadable),
    named('the e-mail hash does not match', misplaced),
  ].filter(Boolean)
  const checked =
    sample === null ? [] : [`only a sample was decrypted (${sample}); doctor --all decrypts everything`]
  return finding(
    'sealed values',
    faults.length > 0 && [...faults, ...checked].join('; '),
    checked[0] ?? 'all can be decrypted',
  )
}

export function unusable(fault: string, action?: string | null): Refusal {
  return new Refusal('database_unusable', fault, { action })
}

/** Returns the refusal for a file that cannot be written, and any other error unchanged. */
export function fileFault(error: unknown, path: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'EEXIST') return unusable('the file already exists', 'choose another path')
  return /^(ENOSPC|EDQUOT|EFBIG|ENOTDIR)$/.test(code ?? '') ? noRoomAt(path) : error
}

/** The message names only the target. The error does not show which folder of a backup is full. */
export function noRoomAt(path: string): Refusal {
  return unusable(`no sound copy could be made at ${path}`, 'check the free disk space')
}
