export const auditActions = [
  'organization.add',
  'organization.rename',
  'organization.deactivate',
  'organization.reactivate',
  'partner.add',
  'partner.rename',
  'partner.deactivate',
  'partner.reactivate',
  'partner.set-organization',
  'partner.set-rates',
  'partner.set-networks',
  'partner.email-limit',
  'token.issue',
  'token.rotate',
  'token.revoke',
  'token.cancel',
  'token.use',
  'provider.deactivate',
  'provider.reactivate',
  'provider.time-off-add',
  'provider.time-off-remove',
  'request.list',
  'request.show',
  'request.suggest',
  'request.assign',
  'request.accept',
  'request.decline',
  'request.acknowledge',
  'request.move',
  'request.close',
  'request.reopen',
  'request.cancel',
  'request.reschedule',
  'request.note',
  'request.read-notes',
  'request.read-risk',
  'request.read-screening',
  'request.read-appointment',
  'member.create',
  'member.update',
  'member.edit',
  'member.release-email',
  'member.look-up',
  'member.show',
  'member.find',
  'member.email-conflict',
  'member.deactivate',
  'member.reactivate',
  'member.export',
  'member.erase',
  'directory.load',
  'database.back-up',
  'database.drill',
  'database.reactivate',
  'key.rotate',
  'audit.prune',
  'audit.affected',
  'authentication.refuse',
] as const

export type AuditAction = (typeof auditActions)[number]

/** The actor and the time of a change. Passed with each change, because one process serves several people. */
export interface Act {
  readonly actor: string
  readonly at: number
}

/** An audit line before it is stored, without id and hash. No entry contains the value of a field. */
export interface AuditEntry {
  readonly at: number
  readonly actor: string
  readonly action: AuditAction
  /** For example `partner 3`; null if the action concerns no record. */
  readonly record: string | null
  /** For example `done`, `done: 7` (a list of seven people), or the kind of a refusal. */
  readonly outcome: string
}

/** An audit line. The hash also covers the previous line of the same chain. */
export interface AuditLine extends AuditEntry {
  readonly id: number
  /** A keyed hash in hex. */
  readonly hash: string
}

export interface AuditSubject {
  readonly actor?: string | undefined
  readonly record?: string | undefined
}

/** Selects the newest matching lines. With `after` (an id), selects the oldest lines with a higher id. */
export interface AuditFilter extends AuditSubject {
  /** The start of the period in ms, inclusive. */
  readonly since?: number | undefined
  /** The end of the period in ms, exclusive. */
  readonly until?: number | undefined
  readonly actions?: readonly AuditAction[] | undefined
  readonly anyOf?: readonly AuditSubject[] | undefined
  readonly after?: number | undefined
}

/** Keyed hashes in hex (HMAC, RFC 2104). */
export interface AuditHashes {
  line(text: string): string
  seal(text: string): string
}

/** Refused authentications form their own chain, so that they can be pruned separately. */
export type AuditChain = 'acts' | 'refusals'
export const auditChains: readonly AuditChain[] = ['acts', 'refusals']

export function chainOf({ action }: Pick<AuditEntry, 'action'>): AuditChain {
  return action === 'authentication.refuse' ? 'refusals' : 'acts'
}

/** The last line of a chain. The hash of this line covers all earlier lines. */
export interface AuditHead {
  readonly id: number
  readonly hash: string
}

export const auditStart: AuditHead = { id: 0, hash: '0'.repeat(64) }

/** A section of a chain. `start` is the line before the section, and `head` is the last line. */
export interface AuditSpan {
  readonly start: AuditHead
  readonly head: AuditHead
}

export type AuditState = Readonly<Record<AuditChain, AuditSpan>>

export const emptyAudit: AuditState = {
  acts: { start: auditStart, head: auditStart },
  refusals: { start: auditStart, head: auditStart },
}

/** Returns the hash of a line. The hash also covers the previous line of the same chain. */
export function auditHash(hashes: AuditHashes, previousHash: string, line: Omit<AuditLine, 'hash'>): string {
  const { id, at, actor, action, record, outcome } = line
  return hashes.line(JSON.stringify([previousHash, id, at, actor, action, record, outcome]))
}

export function addLine(hashes: AuditHashes, state: AuditState, id: number, entry: AuditEntry) {
  const chain = chainOf(entry)
  const { at, actor, action, record, outcome } = entry
  const content = { id, at, actor, action, record, outcome }
  const line: AuditLine = { ...content, hash: auditHash(hashes, state[chain].head.hash, content) }
  const after: AuditState = { ...state, [chain]: { ...state[chain], head: headOf(line) } }
  return { line, state: after }
}

export function headOf({ id, hash }: AuditHead): AuditHead {
  return { id, hash }
}

export function formatState(hashes: AuditHashes, { acts, refusals }: AuditState): string {
  return JSON.stringify({ acts, refusals, seal: sealOf(hashes, 'state', [acts, refusals]) })
}

/** Returns null if the seal does not match. */
export function parseState(hashes: AuditHashes, text: string): AuditState | null {
  const { seal, ...state } = parseObject(text) as unknown as AuditState & { readonly seal: unknown }
  return seal === sealOf(hashes, 'state', [state.acts, state.refusals]) ? state : null
}

/** @param tag domain separation: seals of different purposes differ */
function sealOf(hashes: AuditHashes, tag: string, spans: readonly AuditSpan[]): string {
  const content = spans.map((span) => [span?.start?.id, span?.start?.hash, span?.head?.id, span?.head?.hash])
  return hashes.seal(JSON.stringify([tag, ...content]))
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

export function formatLine(line: AuditLine): string {
  const { id, at, actor, action, record, outcome, hash } = line
  return JSON.stringify({ id, at: new Date(at).toISOString(), actor, action, record, outcome, hash })
}

/** Parses an exported line. The caller must check the hash of the line. */
export function parseLine(text: string): AuditLine {
  const line = parseObject(text) as unknown as AuditLine & { readonly at: string }
  return { ...line, at: Date.parse(line.at) }
}

/** The last line of an archive file of pruned audit lines. */
export interface AuditArchive extends AuditSpan {
  readonly chain: AuditChain
}

export function formatArchiveEnd(hashes: AuditHashes, { chain, start, head }: AuditArchive): string {
  return JSON.stringify({
    chain,
    start,
    head,
    seal: sealOf(hashes, `archive of ${chain}`, [{ start, head }]),
  })
}

/** Returns null if the seal does not match. */
export function parseArchiveEnd(hashes: AuditHashes, text: string): AuditArchive | null {
  const { seal, ...archive } = parseObject(text) as unknown as AuditArchive & { readonly seal: unknown }
  const isSealed = seal === sealOf(hashes, `archive of ${archive.chain}`, [archive])
  return isSealed ? archive : null
}

/** The result of a check: the head if all lines are intact, otherwise the first fault. */
export type AuditVerdict =
  | { readonly intact: true; readonly head: AuditHead }
  | { readonly intact: false; readonly id: number; readonly fault: string }

type Fault = Extract<AuditVerdict, { intact: false }>

/** Returns a checker for one section of a chain. Pass the lines in order. */
export function followChain(hashes: AuditHashes, { start, head }: AuditSpan) {
  let last = start
  /** The first missing id since the last line of this chain. The missing line may belong to either chain. */
  let gap: number | null = null
  return {
    miss(id: number): void {
      gap ??= id
    },
    take(line: AuditLine): Fault | null {
      if (line.id <= start.id) return broken(line.id, 'the line lies in the part that was pruned')
      if (line.hash !== auditHash(hashes, last.hash, line)) {
        return gap === null ? broken(line.id, 'the line was altered') : broken(gap, 'the line is missing')
      }
      if (last.id >= head.id) return broken(line.id, 'the line comes after the sealed end of the log')
      last = headOf(line)
      gap = null
      return null
    },
    /** @param nextId the id after the last line of the whole log */
    end: (nextId = last.id + 1): Fault | null =>
      last.hash === head.hash
        ? null
        : broken(gap ?? nextId, `the lines from here to line ${head.id} are missing`),
  }
}

function broken(id: number, fault: string): Fault {
  return { intact: false, id, fault }
}

/**
 * Returns a checker for the whole log. Pass all lines in order of id. The checker finds changed, missing and extra
 * lines. The checker also requires that the log contains the noted head. Memory use is constant.
 */
export function checkLines(hashes: AuditHashes, state: AuditState, noted: AuditHead | null) {
  const chains = { acts: followChain(hashes, state.acts), refusals: followChain(hashes, state.refusals) }
  const { start, head } = state.acts
  // Gaps in ids are checked only after the later start, because pruning one chain leaves earlier gaps.
  let nextId = Math.max(start.id, state.refusals.start.id) + 1
  let isNotedSeen = noted === null || [auditStart, start].some(({ id, hash }) => isNoted(id, hash))

  function isNoted(id: number, hash: string): boolean {
    return id === noted?.id && hash === noted.hash
  }
  return {
    take(line: AuditLine): Fault | null {
      if (line.id > nextId) for (const chain of auditChains) chains[chain].miss(nextId)
      nextId = Math.max(nextId, line.id + 1)
      const fault = chains[chainOf(line)].take(line)
      if (fault) return fault
      if (line.id === noted?.id && !isNoted(line.id, line.hash)) {
        return broken(line.id, 'the line differs from the given head')
      }
      isNotedSeen ||= line.id === noted?.id
      return null
    },
    end(): AuditVerdict {
      const fault = chains.acts.end(nextId) ?? chains.refusals.end(nextId)
      if (fault) return fault
      if (noted && !isNotedSeen) {
        if (noted.id === start.id) return broken(noted.id, 'the line differs from the given head')
        if (noted.id > start.id) return broken(nextId, 'the lines up to the given head are missing')
        return broken(noted.id, 'the line of the given head was pruned; verify the archive that contains it')
      }
      return { intact: true, head }
    },
  }
}
