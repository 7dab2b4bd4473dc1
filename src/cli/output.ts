import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { Refusal } from '../domain/errors'

/** A column of a table: its title, and what it shows of a row. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string | number | null
}

/** Prints a value as JSON: for programs. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** Prints rows as a table: for people. A missing value is a dash. */
export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): void {
  if (rows.length === 0) {
    printLine(empty)
    return
  }
  const texts = rows.map((row) => columns.map(({ value }) => oneLine(String(value(row) ?? '-'))))
  const widths = columns.map(({ title }, index) =>
    Math.max(Bun.stringWidth(title), ...texts.map((text) => Bun.stringWidth(text[index] ?? ''))),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - Bun.stringWidth(cell)))
      .join('  ')
      .trimEnd()
  printLine(bold(line(columns.map(({ title }) => title))))
  for (const text of texts) printLine(line(text))
}

/** Prints names and values below one another: one record for people. */
export function printRecord(record: Readonly<Record<string, string | number | null>>): void {
  const widest = Math.max(...Object.keys(record).map((name) => name.length))
  for (const [name, value] of Object.entries(record))
    printLine(`${name.padEnd(widest)}  ${oneLine(String(value ?? '-'))}`)
}

/** A text that a partner sent, on one line and without what a terminal would act on or reorder. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Emphasis on a terminal; plain where there is none or where NO_COLOR asks for it. */
function bold(text: string): string {
  return process.stdout.isTTY ? styleText('bold', text, { stream: process.stdout }) : text
}

/**
 * Asks before what cannot be undone, or what cuts somebody off.
 *
 * @throws Refusal not_confirmed for anything but a yes, and without a terminal to ask on
 */
export async function confirm(question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new Refusal('not_confirmed', 'this needs --yes where there is no terminal to ask on')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('not_confirmed', 'nothing was changed')
}
