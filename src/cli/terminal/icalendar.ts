/** All times are in ms. */
export interface CalendarEvent {
  /** The same event must have the same uid in every export. */
  readonly uid: string
  readonly startsAt: number
  readonly endsAt: number
  readonly status: 'CONFIRMED' | 'TENTATIVE'
  readonly summary: string
  readonly description: string
}

/** Formats a calendar (RFC 5545) with times in UTC. @param at time of the export, in ms */
export function formatCalendar(events: readonly CalendarEvent[], at: number): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Anteroom//Appointments//EN',
    'CALSCALE:GREGORIAN',
    ...events.flatMap((event) => eventLines(event, at)),
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${foldLine(line)}\r\n`).join('')
}

function eventLines(event: CalendarEvent, at: number): string[] {
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

function dateTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

/** Escapes a text (§3.3.11), and replaces all control characters except line breaks and tabs (§3.1). */
function escapeText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, ' ')
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll('\n', '\\n')
}

/** Maximum length of a line in octets, without its line break (§3.1). */
const mostOctets = 75

/** Folds a line: each continuation line begins with a space. Does not split a character of several octets. */
function foldLine(line: string): string {
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
