import { fstatSync, statSync, writeSync } from 'node:fs'
import { devNull } from 'node:os'
import { Refusal } from '../../domain/errors'
import { dayMinutes, formatInstant, minuteMillis } from '../../scheduling/calendar'

export interface CommonFlags {
  readonly json?: boolean
  readonly yes?: boolean
}

const controls = /[\p{Cc}\u2028\u2029]+/gu
/** Control characters and line separators that JSON.stringify does not escape. */
const controlsInJson = /[\x7f-\x9f\u2028\u2029]/gu
// Matches invisible characters and characters that change the order of text: they make different names look the same
// (UTS 39). Emoji contain such characters but must stay unchanged, so whole emoji are matched too.
const unseen = /\p{RGI_Emoji}|[\p{Cf}\p{Default_Ignorable_Code_Point}]/gv
/** Tested before `unseen` is used, because compiling `unseen` takes longer than most commands. */
const beyondAscii = /[\u0080-\uffff]/
const isUnseen = /^[\p{Cf}\p{Default_Ignorable_Code_Point}]$/u

/** Makes untrusted text safe to print in one line: invisible characters become escapes, for example \u202e. */
export function oneLine(text: string): string {
  return escapeUnseen(text.replace(controls, ' '))
}

/** Returns JSON (RFC 8259) in which control characters and invisible characters are escaped. */
export function formatJson(value: unknown, indent = 2): string {
  return escapeUnseen(JSON.stringify(value, null, indent).replace(controlsInJson, escaped))
}

function escapeUnseen(text: string): string {
  if (!beyondAscii.test(text)) return text
  return text.replace(unseen, (found) => (isUnseen.test(found) ? escaped(found) : found))
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

let opened: typeof process.stdout | undefined

/** Opens stdout at its first use, because opening stdout is slow. */
export function stdout(): typeof process.stdout {
  // A reader that stops early, for example `| head`, is not an error.
  opened ??= process.stdout.on('error', (error: { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0)
    // Commands print after their changes, so the message must not say that the command failed.
    process.stderr.write(
      'error: the output could not be written, but the command may have made its changes\n',
    )
    process.exit(1)
  })
  return opened
}

/** Returns false if the buffer is full. The caller must then wait for `drain` before the next print. */
export function print(text: string): boolean {
  return stdout().write(text)
}

/** Prints a line for a server, without the cost of opening stdout. Returns false if the line cannot be written. */
export function announce(line: string): boolean {
  try {
    writeSync(1, `${oneLine(line)}\n`)
    return true
  } catch {
    return false
  }
}

export function printJson(value: unknown, indent = 2): void {
  print(`${formatJson(value, indent)}\n`)
}

export async function printJsonLine(value: unknown): Promise<void> {
  if (!print(`${formatJson(value, 0)}\n`)) await new Promise((go) => stdout().once('drain', go))
}

/** A string is one line. A function returns a block that depends on the terminal. An array contains several texts. */
export type Text = string | (() => string) | readonly Text[]

/** The result of a command: `json` is printed with --json, `text` without. */
export interface Answer {
  readonly json: unknown
  readonly text: Text
}

export function printAnswer(flags: CommonFlags, { json, text }: Answer): void {
  if (flags.json) printJson(json)
  else printLines(text)
}

export function printLines(...lines: Text[]): void {
  for (const line of lines) {
    if (typeof line === 'string') print(`${oneLine(line)}\n`)
    else if (typeof line === 'function') print(line())
    else printLines(...line)
  }
}

/** Bun replaces a closed stdout by the null device. @throws Refusal field_invalid if stdout is the null device */
export function requireReader(name: string): void {
  const nowhere = statSync(devNull, { throwIfNoEntry: false })
  if (nowhere === undefined || fstatSync(stdout().fd).rdev !== nowhere.rdev) return
  throw new Refusal('field_invalid', `the ${name} cannot be printed, because stdout is closed or /dev/null`, {
    action: 'use --output <file>',
  })
}

/** Writes synchronously, so that a failure is noticed. @throws Refusal storage_failed */
export function printSecret(flags: CommonFlags, name: string, secret: string): void {
  try {
    writeSync(stdout().fd, `${secretText(flags, name, secret)}\n`)
  } catch {
    const why = `the ${name} is in force, but it could not be printed and cannot be shown again`
    throw new Refusal('storage_failed', why, { action: `rotate the ${name}` })
  }
}

export function secretText({ json }: CommonFlags, name: string, secret: string): string {
  return json ? formatJson({ [name]: secret }) : secret
}

/** Prints a text unchanged, for other programs. Only on a terminal, control characters are replaced. */
export function verbatim(text: string): Text {
  return () => (stdout().isTTY ? eachLine(text) : text)
}

export function printNotice(text: string): void {
  printError(`anteroom: ${text}`)
}

export function printError(text: string): void {
  process.stderr.write(`${eachLine(text)}\n`)
}

function eachLine(text: string): string {
  return text.split(/\r?\n/).map(oneLine).join('\n')
}

/** Formats an instant (ms) in UTC. */
export function instantText(at: number | null): string | null {
  return at === null ? null : formatInstant(at)
}

/** Quotes a text so that a POSIX shell reads it as one word. */
export function shellWord(text: string): string {
  return /^[\w.:@+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** For example `12 min`, `5 h` or `3 d`. Both times are in ms. */
export function ageText(since: number, now: number): string {
  const minutes = Math.max(0, Math.floor((now - since) / minuteMillis))
  if (minutes < 60) return `${minutes} min`
  return minutes < 2 * dayMinutes ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / dayMinutes)} d`
}
