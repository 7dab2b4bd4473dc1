import {
  type AuditFilter,
  type AuditHashes,
  type AuditHead,
  type AuditLine,
  type AuditState,
  type AuditSubject,
  type AuditVerdict,
  checkLines,
} from '../../src/domain/audit'
import { countedRefusal, type RefusalCount, type RefusalsAsked } from '../../src/domain/refusal-count'

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

/** What a filter asks for, of lines that are all there. */
export function filterLines(all: readonly AuditLine[], limit: number, filter: AuditFilter): AuditLine[] {
  const { since = -Infinity, until = Infinity, after, actions, anyOf = [{}], ...subject } = filter
  const isOf = (line: AuditLine, { actor = line.actor, record = line.record ?? undefined }: AuditSubject) =>
    line.actor === actor && (line.record ?? undefined) === record
  const fits = (line: AuditLine) =>
    line.at >= since &&
    line.at < until &&
    (actions?.includes(line.action) ?? true) &&
    isOf(line, subject) &&
    anyOf.some((one) => isOf(line, one))
  const isNarrowed = Object.entries(filter).some(([name, value]) => name !== 'after' && value !== undefined)
  const ordered = isNarrowed ? all.toSorted((a, b) => a.at - b.at || a.id - b.id) : all
  const last = ordered.findIndex(({ id }) => id === after)
  const behind = last < 0 ? ordered.filter(({ id }) => id > (after ?? 0)) : ordered.slice(last + 1)
  const found = behind.filter(fits)
  return after === undefined ? found.slice(-limit) : found.slice(0, limit)
}

/** How often authentications were refused for each reason. */
export function countRefusals(
  all: readonly AuditLine[],
  { since, most, partnerId }: RefusalsAsked,
): RefusalCount[] {
  const record = partnerId === undefined ? undefined : `partner ${partnerId}`
  const lines = filterLines(all, most, { since, record, actions: ['authentication.refuse'] })
  return [...Map.groupBy(lines, ({ record, outcome }) => `${record ?? ''}/${outcome}`)]
    .sort(([one, theirs], [other, others]) => others.length - theirs.length || (one < other ? -1 : 1))
    .flatMap(([, theirs]) => {
      const [line] = theirs
      const lastAt = Math.max(...theirs.map(({ at }) => at))
      return line ? countedRefusal({ ...line, count: theirs.length, lastAt }) : []
    })
}
