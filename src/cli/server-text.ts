import type { ServerNote } from '../domain/ports/upkeep'
import { type ServerState, type ServerStatus, serviceState } from '../operations/status'
import { ageText } from './age'
import { instantText } from './output'

const stateTexts: Readonly<Record<ServerState, string>> = {
  up: 'up',
  unready: 'up, and can store nothing',
  silent: 'does not answer',
  down: 'down',
}

/** The service as its one server, or as a whole. */
export function serviceLines(servers: readonly ServerStatus[], now: number): Record<string, string> {
  const state = stateTexts[serviceState(servers)]
  const [first, ...others] = servers
  if (others.length > 0) {
    const up = servers.filter((server) => server.state === 'up').length
    return { service: `${state}, ${up} of ${servers.length} servers` }
  }
  if (!first?.note) return { service: state }
  const { note } = first
  const since = agoText(note.startedAt, now) as string
  const address = addressOf(note)
  if (first.state === 'down') return { service: endedText, 'last started': since, address }
  return { service: state, since, address, version: note.version }
}

// Nobody took its note away: it was killed, or the machine went down.
const endedText = 'down, and was not stopped'

function addressOf({ host, port }: ServerNote): string {
  return `${host} port ${port}`
}

/** Each of several servers as a row; none where the lines of the service say all. */
export function serverRows(servers: readonly ServerStatus[], now: number) {
  if (servers.length < 2) return []
  return servers.map(({ state, note, seenAt }) => ({
    server: note?.machine ?? null,
    state: state === 'down' ? endedText : stateTexts[state],
    address: note && addressOf(note),
    version: note?.version ?? null,
    since: note && agoText(note.startedAt, now),
    seen: agoText(seenAt, now),
  }))
}

/** The same as JSON: as its one server, or as a whole with each of them. */
export function presentServers(servers: readonly ServerStatus[]) {
  const state = serviceState(servers)
  const [first, ...others] = servers
  if (others.length === 0) return { service: { state, ...(first && presentNote(first)) } }
  const each = servers.map((server) => ({
    state: server.state,
    machine: server.note?.machine ?? null,
    ...presentNote(server),
    seenAt: instantText(server.seenAt),
  }))
  return { service: { state }, servers: each }
}

function presentNote({ note }: ServerStatus) {
  if (!note) return {}
  const { host, port, version, startedAt } = note
  return { host, port, version, since: instantText(startedAt) }
}

/** An instant (ms), and how long ago it was. */
export function agoText(at: number | null, now: number): string | null {
  return at === null ? null : `${instantText(at)} (${ageText(at, now)} ago)`
}
