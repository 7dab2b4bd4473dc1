import { fstatSync, statSync, writeSync } from 'node:fs'
import { devNull } from 'node:os'
import { Refusal } from '../../domain/errors'
import { dayMinutes, formatInstant, minuteMillis } from '../../scheduling/calendar'

/** What a command's flags say of how it prints and asks. */
export interface CommonFlags {
  readonly json?: boolean
  readonly yes?: boolean
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
export function stdout(): typeof process.stdout {
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

/** Text for people: a line, a block that depends on the width of the terminal, or several of these in order. */
export type Text = string | (() => string) | readonly Text[]

/** What a command prints on stdout: `json` with --json, `text` without. */
export interface Answer {
  readonly json: unknown
  readonly text: Text
}

export function printAnswer(flags: CommonFlags, { json, text }: Answer): void {
  if (flags.json) printJson(json)
  else printLines(text)
}

/** Prints text for people. Control characters in lines are replaced. */
export function printLines(...lines: Text[]): void {
  for (const line of lines) {
    if (typeof line === 'string') print(`${oneLine(line)}\n`)
    else if (typeof line === 'function') print(line())
    else printLines(...line)
  }
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

/** Text that is printed as it is, for programs. On a terminal its control characters are replaced. */
export function verbatim(text: string): Text {
  return () => (stdout().isTTY ? eachLine(text) : text)
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
