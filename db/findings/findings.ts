import type { AuditVerdict } from '../../src/domain/audit'
import type { Finding } from '../../src/domain/ports/upkeep'

/** A finding: bad if there is a fault. */
export function finding(check: string, fault: string | false | undefined, otherwise: string): Finding {
  return { check, state: fault ? 'bad' : 'ok', detail: fault || otherwise }
}

/** The most records that a finding names. */
const mostNamed = 20

/** A fault and the records that have it; empty for none. */
export function named(fault: string, records: readonly string[]): string {
  const more = records.length > mostNamed ? ` and ${records.length - mostNamed} more` : ''
  return records.length > 0 ? `${fault}: ${records.slice(0, mostNamed).join(', ')}${more}` : ''
}

export function auditFinding(verdict: AuditVerdict): Finding {
  if (!verdict.intact) return finding('audit log', `broken at line ${verdict.id}: ${verdict.fault}`, '')
  return finding('audit log', undefined, `intact up to line ${verdict.head.id}`)
}

/**
 * @param unreadable records with a sealed value that cannot be opened
 * @param misplaced members whose stored hash is not that of their address
 * @param sample the values that were opened, if not all: `1000 members, 12 notes`
 */
export function sealedFinding(
  unreadable: readonly string[],
  misplaced: readonly string[],
  sample: string | null,
): Finding {
  const faults = [
    named('cannot be opened', unreadable),
    named('found by another address than theirs', misplaced),
  ].filter(Boolean)
  const checked = sample === null ? [] : [`a sample was opened (${sample}): doctor --all opens all`]
  return finding(
    'sealed values',
    faults.length > 0 && [...faults, ...checked].join('; '),
    checked[0] ?? 'all can be opened',
  )
}
