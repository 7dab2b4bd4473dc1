export interface ReadEvent {
  readonly uid: string
  /** `stampedAt`, `startsAt` and `endsAt` are in ms since 1970-01-01T00:00Z. */
  readonly stampedAt: number
  readonly startsAt: number
  readonly endsAt: number
  readonly status: string
  readonly summary: string
  readonly description: string
}

/**
 * Reads a calendar. Accepts only the part of RFC 5545 that this service uses.
 *
 * @throws Error for anything else
 */
export function readCalendar(text: string): ReadEvent[] {
  const lines = unfold(text)
  const head = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Anteroom//Appointments//EN',
    'CALSCALE:GREGORIAN',
  ]
  if (lines.splice(0, 4).join() !== head.join()) throw new Error('the head is another')
  if (lines.pop() !== 'END:VCALENDAR') throw new Error('the calendar does not end')
  const events: ReadEvent[] = []
  while (lines.length > 0) events.push(readEvent(lines))
  const uids = events.map(({ uid }) => uid)
  if (new Set(uids).size < uids.length) throw new Error('two events are one')
  return events
}

/** RFC 5545 §3.1: lines end in CR LF, have at most 75 octets, and continue after a space. */
function unfold(text: string): string[] {
  if (!text.endsWith('\r\n')) throw new Error('the last line does not end')
  const physical = text.slice(0, -2).split('\r\n')
  for (const line of physical) {
    if (Buffer.byteLength(line) > 75) throw new Error(`a line of ${Buffer.byteLength(line)} octets`)
    if (/(?!\t)\p{Cc}/u.test(line)) throw new Error('a control character')
    if (line.trim() === '') throw new Error('an empty line')
    if (!line.isWellFormed()) throw new Error('a character that was torn apart')
  }
  return physical.join('\r\n').replaceAll('\r\n ', '').split('\r\n')
}

const names = ['UID', 'DTSTAMP', 'DTSTART', 'DTEND', 'STATUS', 'SUMMARY', 'DESCRIPTION']

function readEvent(lines: string[]): ReadEvent {
  if (lines.shift() !== 'BEGIN:VEVENT') throw new Error('no event begins')
  const [uid, stamp, start, end, status, summary, description] = names.map((name) => {
    const line = lines.shift() ?? ''
    if (!line.startsWith(`${name}:`)) throw new Error(`no ${name}: ${line}`)
    return line.slice(name.length + 1)
  }) as [string, string, string, string, string, string, string]
  if (lines.shift() !== 'END:VEVENT') throw new Error('the event does not end')
  if (status !== 'CONFIRMED' && status !== 'TENTATIVE') throw new Error('no status of an event')
  const [startsAt, endsAt] = [instant(start), instant(end)]
  if (endsAt <= startsAt) throw new Error('it ends before it starts')
  return {
    uid: textOf(uid),
    stampedAt: instant(stamp),
    startsAt,
    endsAt,
    status,
    summary: textOf(summary),
    description: textOf(description),
  }
}

function instant(text: string): number {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  const [year, month, day, hour, minute, second] = parts
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(at)) throw new Error(`no instant: ${text}`)
  return at
}

/** RFC 5545 §3.3.11: commas, semicolons and backslashes are escaped; \n is the only other escape. */
function textOf(text: string): string {
  if (!/^(?:[^\\;,]|\\[\\;,n])*$/.test(text)) throw new Error(`not escaped: ${text}`)
  return text.replaceAll(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
}
