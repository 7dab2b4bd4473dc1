/** An event of a calendar; instants in ms. */
export interface CalendarEvent {
  /** The same whenever the same thing is told again. */
  readonly uid: string
  readonly startsAt: number
  readonly endsAt: number
  readonly status: 'CONFIRMED' | 'TENTATIVE'
  readonly summary: string
  readonly description: string
}

/** Events as a calendar file (RFC 5545), its times in UTC. @param at when it is told, in ms */
export function formatCalendar(events: readonly CalendarEvent[], at: number): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Anteroom//Appointments//EN',
    'CALSCALE:GREGORIAN',
    ...events.flatMap((event) => linesOf(event, at)),
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${fold(line)}\r\n`).join('')
}

function linesOf(event: CalendarEvent, at: number): string[] {
  return [
    'BEGIN:VEVENT',
    `UID:${escapeText(event.uid)}`,
    `DTSTAMP:${dateTime(at)}`,
    `DTSTART:${dateTime(event.startsAt)}`,
    `DTEND:${dateTime(event.endsAt)}`,
    `STATUS:${event.status}`,
    `SUMMARY:${escapeText(event.summary)}`,
    `DESCRIPTION:${escapeText(event.description)}`,
    'END:VEVENT',
  ]
}

/** `20261201T140000Z` (§3.3.5). */
function dateTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

/** §3.3.11; of the control characters, which a text cannot hold (§3.1), breaks of lines and tabs alone are kept. */
function escapeText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, ' ')
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n')
}

/** The most octets of a line, its end left out (§3.1). */
const mostOctets = 75

/** A line as lines of at most 75 octets, of which each but the first begins with a space; no character is torn apart. */
function fold(line: string): string {
  let folded = ''
  let octets = 0
  for (const character of line) {
    const more = Buffer.byteLength(character)
    if (octets + more > mostOctets) {
      folded += '\r\n '
      octets = 1
    }
    folded += character
    octets += more
  }
  return folded
}
