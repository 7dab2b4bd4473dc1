/** Everything that is written to the audit log, as a closed list. */
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
  'token.issue',
  'token.rotate',
  'token.revoke',
  'token.cancel',
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
  'request.note',
  'request.read-notes',
  'request.read-risk',
  'request.read-screening',
  'request.read-appointment',
  'member.look-up',
  'member.show',
  'member.find',
  'member.email-conflict',
  'member.release-email',
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
  'authentication.refuse',
] as const

export type AuditAction = (typeof auditActions)[number]

/** Who does a thing, and when: told with each change, since one process serves several people. */
export interface Act {
  readonly actor: string
  /** ms */
  readonly at: number
}

/** One line to be: who did what to which record, and how it ended. Never the value of a field. */
export interface AuditEntry {
  /** ms */
  readonly at: number
  readonly actor: string
  readonly action: AuditAction
  /** As `partner 3`; null where no record is concerned. */
  readonly record: string | null
  /** `done`, of a list with how many people it showed; or the kind of the refusal. */
  readonly outcome: string
}

/** A line of the log, which its hash binds to the line before it in its chain. */
export interface AuditLine extends AuditEntry {
  readonly id: number
  /** Keyed, in hex. */
  readonly hash: string
}

/** Lines by one actor, about one record, or both. */
export interface AuditSubject {
  readonly actor?: string | undefined
  /** As `partner 3`. */
  readonly record?: string | undefined
}

/** Which lines are asked for. Of those that fit, the newest, or with `after` the first behind that line. */
export interface AuditFilter extends AuditSubject {
  /** ms, inclusive. */
  readonly since?: number | undefined
  /** ms, exclusive. */
  readonly until?: number | undefined
  readonly actions?: readonly AuditAction[] | undefined
  /** Lines that are of one of these, too. */
  readonly anyOf?: readonly AuditSubject[] | undefined
  /** A line's id. */
  readonly after?: number | undefined
}

/** Keyed hashes in hex (HMAC, RFC 2104), which nobody without the key can make. */
export interface AuditHashes {
  line(text: string): string
  seal(text: string): string
}

/** Refused authentications are bound to one another, and all other lines too, so that each can be pruned in its time. */
export type AuditChain = 'acts' | 'refusals'
export const auditChains: readonly AuditChain[] = ['acts', 'refusals']

export function chainOf({ action }: Pick<AuditEntry, 'action'>): AuditChain {
  return action === 'authentication.refuse' ? 'refusals' : 'acts'
}

/** A line by which those before it can be held to what they were. */
export interface AuditHead {
  readonly id: number
  readonly hash: string
}

/** What stands for the line before the first. */
export const auditStart: AuditHead = { id: 0, hash: '0'.repeat(64) }

/** A stretch of a chain: the line before its first, and its last. */
export interface AuditSpan {
  readonly start: AuditHead
  readonly head: AuditHead
}

/** The start and the head of each chain. */
export type AuditState = Readonly<Record<AuditChain, AuditSpan>>

/** The state of a log without lines. */
export const emptyAudit: AuditState = {
  acts: { start: auditStart, head: auditStart },
  refusals: { start: auditStart, head: auditStart },
}

/** The hash of a line: of the hash of the line before it in its chain, and of all that the line says. */
export function auditHash(hashes: AuditHashes, previousHash: string, line: Omit<AuditLine, 'hash'>): string {
  const { id, at, actor, action, record, outcome } = line
  return hashes.line(JSON.stringify([previousHash, id, at, actor, action, record, outcome]))
}

/** A line of the next id, and the state once it is written. */
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

/** A state as it is kept, with its seal. */
export function formatState(hashes: AuditHashes, { acts, refusals }: AuditState): string {
  return JSON.stringify({ acts, refusals, seal: sealOf(hashes, 'state', [acts, refusals]) })
}

/** A state that was kept; null if it is not as it was sealed. */
export function parseState(hashes: AuditHashes, text: string): AuditState | null {
  const { seal, ...state } = parseObject(text) as unknown as AuditState & { readonly seal: unknown }
  return seal === sealOf(hashes, 'state', [state.acts, state.refusals]) ? state : null
}

/** @param what domain separation tag */
function sealOf(hashes: AuditHashes, what: string, spans: readonly AuditSpan[]): string {
  const content = spans.map((span) => [span?.start?.id, span?.start?.hash, span?.head?.id, span?.head?.hash])
  return hashes.seal(JSON.stringify([what, ...content]))
}

/** A value of JSON that is an object; one without members for anything else. */
function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** A line as exports and archives have it: on one line of JSON. */
export function formatLine(line: AuditLine): string {
  const { id, at, actor, action, record, outcome, hash } = line
  return JSON.stringify({ id, at: new Date(at).toISOString(), actor, action, record, outcome, hash })
}

/** A line that was exported; whether it is as it was, its hash tells. */
export function parseLine(text: string): AuditLine {
  const line = parseObject(text) as unknown as AuditLine & { readonly at: string }
  return { ...line, at: Date.parse(line.at) }
}

/** Lines that were pruned, as their archive ends with them. */
export interface AuditArchive extends AuditSpan {
  readonly chain: AuditChain
}

/** The end of an archive. */
export function formatArchiveEnd(hashes: AuditHashes, { chain, start, head }: AuditArchive): string {
  return JSON.stringify({
    chain,
    start,
    head,
    seal: sealOf(hashes, `archive of ${chain}`, [{ start, head }]),
  })
}

/** What an archive that ends so holds; null if the end is not as it was sealed. */
export function parseArchiveEnd(hashes: AuditHashes, text: string): AuditArchive | null {
  const { seal, ...archive } = parseObject(text) as unknown as AuditArchive & { readonly seal: unknown }
  const isSealed = seal === sealOf(hashes, `archive of ${archive.chain}`, [archive])
  return isSealed ? archive : null
}

/** What a check of the log found: the first line that is not as it was written, if there is one. */
export type AuditVerdict =
  | { readonly intact: true; readonly head: AuditHead }
  | { readonly intact: false; readonly id: number; readonly fault: string }

type Fault = Extract<AuditVerdict, { intact: false }>

/** Checks one stretch of a chain, line by line. */
export function followChain(hashes: AuditHashes, { start, head }: AuditSpan) {
  let last = start
  /** The first line that may be missing since the last of this chain. */
  let gap: number | null = null
  return {
    /** Tells that there is no line of an id. */
    miss(id: number): void {
      gap ??= id
    },
    take(line: AuditLine): Fault | null {
      if (line.id <= start.id) return broken(line.id, 'the line stands among those that were pruned')
      if (line.hash !== auditHash(hashes, last.hash, line)) {
        return gap === null
          ? broken(line.id, 'the line is not as it was written')
          : broken(gap, 'the line is missing')
      }
      if (last.id >= head.id) return broken(line.id, 'the line comes after the newest that is sealed')
      last = headOf(line)
      gap = null
      return null
    },
    /** @param nextId behind the last line of all */
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
 * Checks a log that is walked line by line in order of id, in a memory that does not grow with it: whether every line
 * is as it was written, none is missing and none too many, from the start to the head of each chain, and whether a line
 * that was noted elsewhere is among them.
 */
export function checkLines(hashes: AuditHashes, state: AuditState, noted: AuditHead | null) {
  const chains = { acts: followChain(hashes, state.acts), refusals: followChain(hashes, state.refusals) }
  const { start, head } = state.acts
  // What is not there before both chains have started was pruned.
  let nextId = Math.max(start.id, state.refusals.start.id) + 1
  let isNotedSeen = noted === null || [auditStart, start].some(({ id, hash }) => isNoted(id, hash))

  function isNoted(id: number, hash: string): boolean {
    return id === noted?.id && hash === noted.hash
  }
  return {
    /** The first fault; null as long as there is none. */
    take(line: AuditLine): Fault | null {
      if (line.id > nextId) for (const chain of auditChains) chains[chain].miss(nextId)
      nextId = Math.max(nextId, line.id + 1)
      const fault = chains[chainOf(line)].take(line)
      if (fault) return fault
      if (line.id === noted?.id && !isNoted(line.id, line.hash)) {
        return broken(line.id, 'the line is not the one noted')
      }
      isNotedSeen ||= line.id === noted?.id
      return null
    },
    end(): AuditVerdict {
      const fault = chains.acts.end(nextId) ?? chains.refusals.end(nextId)
      if (fault) return fault
      if (noted && !isNotedSeen) {
        if (noted.id === start.id) return broken(noted.id, 'the line is not the one noted')
        if (noted.id > start.id) return broken(nextId, 'the lines up to the one noted are missing')
        return broken(noted.id, 'the line noted was pruned: verify the archive that has it')
      }
      return { intact: true, head }
    },
  }
}
