import { styleText } from 'node:util'
import type { LogEntry } from '../../http/request-log'
import { oneLine } from './output'

type Format = Parameters<typeof styleText>[0]

/** As long as the paths that are asked for most. */
const routeWidth = 30

/** A request in one line, for a person at a terminal: where it was refused, with the id by which a partner names it. */
export function requestLine(entry: LogEntry, at: number): string {
  const { method, route, status, millis, bytes, partnerId, refusedFor, id } = entry
  const meaning = meaningOf(status)
  const cells = [
    painted('dim', new Date(at).toISOString().slice(11, 19)),
    painted(meaning, String(status)),
    method.padEnd(4),
    oneLine(route ?? '-').padEnd(routeWidth),
    `${millis.toFixed(1)} ms`.padStart(9),
    sizeText(bytes).padStart(8),
    partnerId === null ? '' : `partner ${partnerId}`,
    refusedFor === null ? '' : `${painted(meaning, refusedFor)} ${painted('dim', oneLine(id))}`,
  ]
  return `${cells.filter(Boolean).join('  ')}\n`
}

function meaningOf(status: number): Format {
  if (status >= 500) return ['red', 'bold']
  return status >= 400 ? 'yellow' : 'green'
}

function sizeText(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`
}

/** In color where the terminal knows any, and NO_COLOR does not ask for none. */
function painted(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stderr })
}
