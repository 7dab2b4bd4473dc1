import { fstatSync, statSync, writeSync } from 'node:fs'
import { devNull } from 'node:os'
import { styleText } from 'node:util'
import { InvalidArgumentError } from 'commander'
import { Refusal } from '../../domain/errors'
import { dayMinutes, formatInstant, minuteMillis } from '../../scheduling/calendar'
import { type GiveWay, layOut, wrap } from './layout'

/** What a command's flags say of how it prints and asks. */
export interface CommonFlags {
  readonly json?: boolean
  readonly yes?: boolean
}

/** The columns of a table: by title, what each shows of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | null>>

/** The columns that show properties of a row as they are, each under its name. */
export function columnsOf<Row>(...names: (keyof Row & string)[]): Columns<Row> {
  return Object.fromEntries(
    names.map((name) => [name.toUpperCase(), (row: Row) => (row[name] ?? null) as string | number | null]),
  )
}

// What a terminal acts on (C0, DEL, C1) or lines break at.
const controls = /[\p{Cc}\u2028\u2029]+/gu
/** Those of them that JSON leaves as they are, and that stand outside a text. */
const controlsInJson = /[\x7f-\x9f\u2028\u2029]/gu
/**
 * What nobody sees, or what reorders text: two names that differ in nothing else look the same (UTS 39). Emoji are made of
 * such characters too, and are matched so that they can be left whole.
 */
const unseen = /\p{RGI_Emoji}|[\p{Cf}\p{Default_Ignorable_Code_Point}]/gv
/** What can hold any of that. Asked first: that expression takes longer to be made than most commands to be done. */
const beyondAscii = /[\u0080-\uffff]/
const isUnseen = /^[\p{Cf}\p{Default_Ignorable_Code_Point}]$/u

/**
 * A text, by whomever it was chosen, on one line: without what a terminal would act on, and with escapes, as \u202e, of
 * what could not be seen.
 */
export function oneLine(text: string): string {
  return escapeUnseen(text.replace(controls, ' '))
}

/** A value as JSON (RFC 8259), control characters, and those that could not be seen, written as escapes. */
export function formatJson(value: unknown, indent = 2): string {
  return escapeUnseen(JSON.stringify(value, null, indent).replace(controlsInJson, escaped))
}

function escapeUnseen(text: string): string {
  if (!beyondAscii.test(text)) return text
  return text.replace(unseen, (found) => (isUnseen.test(found) ? escaped(found) : found))
}

/** A character as JSON escapes it, one beyond the basic plane as two. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

let opened: typeof process.stdout | undefined

/** stdout, made when something is printed: that takes the runtime as long as half of what a server has to load. */
function stdout(): typeof process.stdout {
  // Whoever reads our output may stop reading, as `| head` does: that is no failure of ours.
  opened ??= process.stdout.on('error', (error: { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0)
    // Here nobody knows of the command whether it was one that changes anything: what it was to do comes before its words.
    process.stderr.write(
      'anteroom: the output could not be written; what the command changes, it may have changed\n',
    )
    process.exit(1)
  })
  return opened
}

/** Prints a text as it is. Tells whether there is room for more. */
export function print(text: string): boolean {
  return stdout().write(text)
}

/**
 * Prints a line without what stdout takes to be made: for a server, which answers partners whether or not anybody reads that.
 * Tells whether it could be written.
 */
export function announce(line: string): boolean {
  try {
    writeSync(1, `${oneLine(line)}\n`)
    return true
  } catch {
    return false
  }
}

/** Prints a value as JSON, for programs; on one line with an indent of 0. */
export function printJson(value: unknown, indent = 2): void {
  print(`${formatJson(value, indent)}\n`)
}

/** Prints a value as one line of JSON, once there is room: for many of them, whose reader may be slow. */
export async function printJsonLine(value: unknown): Promise<void> {
  if (!print(`${formatJson(value, 0)}\n`)) await new Promise((go) => stdout().once('drain', go))
}

/** Prints a result: as JSON where the flags ask for it, and otherwise in a line. */
export function printResult({ json }: CommonFlags, value: unknown, line: string): void {
  if (json) printJson(value)
  else printLines(line)
}

/**
 * Sees that somebody can read what will be told once. To the runtime a stdout that is closed is the null device.
 *
 * @throws Refusal field_invalid where stdout is that
 */
export function requireReader(name: string): void {
  const nowhere = statSync(devNull, { throwIfNoEntry: false })
  if (nowhere === undefined || fstatSync(stdout().fd).rdev !== nowhere.rdev) return
  throw new Refusal('field_invalid', `nobody can read the ${name} on a stdout that leads nowhere`)
}

/**
 * Prints what is told once and never again.
 *
 * @throws Refusal storage_failed if it could not be: whoever should have it must know
 */
export function printSecret(flags: CommonFlags, name: string, secret: string): void {
  try {
    writeSync(stdout().fd, `${secretText(flags, name, secret)}\n`)
  } catch {
    const why = `the ${name} was made and could not be printed; it can never be shown again: rotate it`
    throw new Refusal('storage_failed', why)
  }
}

/** What is told once, as it is printed or written to a file. */
export function secretText({ json }: CommonFlags, name: string, secret: string): string {
  return json ? formatJson({ [name]: secret }) : secret
}

/** Prints rows: as JSON where the flags ask for it, and otherwise as a table. */
export function printRows<Row>(
  { json }: CommonFlags,
  rows: readonly Row[],
  columns: Columns<Row>,
  empty: string,
  giveWay?: GiveWay,
): void {
  if (json) printJson(rows)
  else printTable(rows, columns, empty, giveWay)
}

/**
 * Prints rows as a table: for people. A missing value is a dash. On a terminal it is no wider than that.
 *
 * @param giveWay what does on a narrow one, where texts that are shortened do not do
 */
export function printTable<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  empty: string,
  giveWay?: GiveWay,
) {
  if (rows.length === 0) return printLines(empty)
  const titles = Object.keys(columns).map(oneLine)
  const cells = rows.map((row) => Object.values(columns).map((value) => cellOf(value(row))))
  const layout = layOut(titles, cells, terminalWidth(), giveWay)
  const lines = [emphasized('bold', layout.titles.join('  ').trimEnd())]
  const names = layout.titles.map((title) => title.trimEnd())
  for (const row of layout.rows) {
    // One that goes on below itself is of one meaning.
    const meanings = names.map((name, at) => meaningOf(name, row[0]?.[at] ?? ''))
    for (const line of row) {
      const shown = line.map((cell, at) => colored(meanings[at], cell))
      lines.push(shown.join('  ').trimEnd())
    }
  }
  if (layout.leftOut.length > 0) {
    const note = `Left out for want of room: ${layout.leftOut.join(', ')}`
    lines.push(...wrap(note, terminalWidth()).map((line) => emphasized('dim', line)))
  }
  print(`${lines.join('\n')}\n`)
}

/** Beside a narrower column, a value would be a column of single words. */
const leastValueWidth = 20

/** Prints names and values below one another: one record for people. On a terminal, long values go on below themselves. */
export function printRecord(record: Readonly<Record<string, string | number | null>>): void {
  const widest = Math.max(...Object.keys(record).map((name) => Bun.stringWidth(name)))
  const room = terminalWidth() - widest - 2
  for (const [name, value] of Object.entries(record)) {
    const cell = cellOf(value)
    const meaning = meaningOf(name.toUpperCase(), cell)
    const lines = wrap(cell, room < leastValueWidth ? Number.POSITIVE_INFINITY : room)
    for (const [at, line] of lines.entries()) {
      const title = at === 0 ? name : ''
      print(`${oneLine(title).padEnd(widest)}  ${colored(meaning, line)}\n`)
    }
  }
}

/** The columns of the terminal; infinite where stdout is none, or does not tell. */
function terminalWidth(): number {
  return (stdout().isTTY && stdout().columns) || Number.POSITIVE_INFINITY
}

type Format = Parameters<typeof styleText>[0]

/** What states mean, by their first word. */
const stateFormats: readonly (readonly [words: RegExp, format: Format])[] = [
  [/^(accepted|active|ok|in|valid|sound|ready|up)\b/, 'green'],
  [/^(declined|closed|deactivated|revoked|retired|ended|expired|canceled|cancelled|erased)\b/, 'dim'],
  [/^(unassigned|pending|waiting|waits|suspended|note|planned)\b/, 'yellow'],
  [/^(bad|damaged|down)\b/, 'red'],
]

/** How a value is shown by what it means: a state by its color, a risk in bold red; undefined for all others. */
function meaningOf(title: string, cell: string): Format | undefined {
  if (title === 'STATE') return stateFormats.find(([words]) => words.test(cell))?.[1]
  if (title === 'RISK' && !/^(-|no|none)?$/.test(cell.trim())) return ['red', 'bold']
  return undefined
}

/** A cell in its color, the spaces behind it without. */
function colored(format: Format | undefined, cell: string): string {
  if (format === undefined) return cell
  const text = cell.trimEnd()
  return text === '' ? cell : emphasized(format, text) + cell.slice(text.length)
}

function cellOf(value: string | number | null): string {
  return oneLine(String(value ?? '-')).trim()
}

/** Prints lines for people. */
export function printLines(...lines: string[]): void {
  for (const line of lines) print(`${oneLine(line)}\n`)
}

/** Prints a text of several lines as it is, for programs; a terminal gets nothing of it to act on. */
export function printText(text: string): void {
  print(stdout().isTTY ? eachLine(text) : text)
}

/** Says on stderr what a person should know of, in one line or several. */
export function printNotice(text: string): void {
  process.stderr.write(`anteroom: ${eachLine(text)}\n`)
}

function eachLine(text: string): string {
  return text.split(/\r?\n/).map(oneLine).join('\n')
}

/** An instant (ms) in UTC; null stays null. */
export function instantText(at: number | null): string | null {
  return at === null ? null : formatInstant(at)
}

/** Emphasis on a terminal; plain where there is none, where it knows none, or where NO_COLOR asks for it. */
function emphasized(format: Format, text: string): string {
  return stdout().isTTY ? styleText(format, text, { stream: stdout() }) : text
}

/** A text quoted as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w.:@+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** How long ago an instant was, in its largest unit, as `12 min`, `5 h`, `3 d`. All are ms. */
export function ageText(since: number, now: number): string {
  const minutes = Math.max(0, Math.floor((now - since) / minuteMillis))
  if (minutes < 60) return `${minutes} min`
  return minutes < 2 * dayMinutes ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / dayMinutes)} d`
}

const unitMinutes: Readonly<Record<string, number>> = {
  min: 1,
  h: 60,
  d: dayMinutes,
  w: 7 * dayMinutes,
}

/** A length of time as `90min`, `12h`, `3d` or `2w`, in ms. */
export function lengthOfTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5}) ?(min|h|d|w)$/.exec(text) ?? []
  const minutes = unitMinutes[unit]
  if (minutes === undefined) throw new InvalidArgumentError('It must be a length as 90min, 12h, 3d or 2w.')
  return Number(count) * minutes * minuteMillis
}
