import { styleText } from 'node:util'
import { type GiveWay, layOut, wrap } from './layout'
import { type Answer, oneLine, stdout, type Text } from './output'

export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | null>>

export function columnsOf<Row>(...names: (keyof Row & string)[]): Columns<Row> {
  return Object.fromEntries(
    names.map((name) => [name.toUpperCase(), (row: Row) => (row[name] ?? null) as string | number | null]),
  )
}

export function rowsAnswer<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  empty: string,
  giveWay?: GiveWay,
): Answer {
  return { json: rows, text: table(rows, columns, empty, giveWay) }
}

/** Fits the table to the width of the terminal. @param empty the line to print if there are no rows */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>, empty: string, giveWay?: GiveWay) {
  return rows.length === 0 ? empty : () => formatRows(rows, columns, giveWay)
}

function formatRows<Row>(rows: readonly Row[], columns: Columns<Row>, giveWay?: GiveWay): string {
  const titles = Object.keys(columns).map(oneLine)
  const cells = rows.map((row) => Object.values(columns).map((value) => cellOf(value(row))))
  const layout = layOut(titles, cells, terminalWidth(), giveWay)
  const lines = [emphasized('bold', layout.titles.join('  ').trimEnd())]
  const names = layout.titles.map((title) => title.trimEnd())
  for (const row of layout.rows) {
    // All lines of a wrapped row have the colors of the first line.
    const meanings = names.map((name, at) => formatOf(name, row[0]?.[at] ?? ''))
    for (const line of row) {
      const shown = line.map((cell, at) => colored(meanings[at], cell))
      lines.push(shown.join('  ').trimEnd())
    }
  }
  if (layout.leftOut.length > 0) {
    const note = `Hidden columns (terminal too narrow): ${layout.leftOut.join(', ')}`
    lines.push(...wrap(note, terminalWidth()).map((line) => emphasized('dim', line)))
  }
  return `${lines.join('\n')}\n`
}

/** Minimum width of values, in terminal columns. Narrower values would have a single word in each line. */
const leastValueWidth = 20

export function fields(record: Readonly<Record<string, string | number | null>>): Text {
  return () => formatRecord(record)
}

function formatRecord(record: Readonly<Record<string, string | number | null>>): string {
  const widest = Math.max(...Object.keys(record).map((name) => Bun.stringWidth(name)))
  const room = terminalWidth() - widest - 2
  return Object.entries(record)
    .flatMap(([name, value]) => {
      const cell = cellOf(value)
      const meaning = formatOf(name.toUpperCase(), cell)
      const lines = wrap(cell, room < leastValueWidth ? Number.POSITIVE_INFINITY : room)
      return lines.map((line, at) => {
        const title = at === 0 ? name : ''
        return `${oneLine(title).padEnd(widest)}  ${colored(meaning, line)}\n`
      })
    })
    .join('')
}

/** In columns. Infinity if stdout is not a terminal or its width is unknown. */
function terminalWidth(): number {
  return (stdout().isTTY && stdout().columns) || Number.POSITIVE_INFINITY
}

type Format = Parameters<typeof styleText>[0]

const stateFormats: readonly (readonly [words: RegExp, format: Format])[] = [
  [/^(accepted|active|ok|in|valid|sound|ready|up)\b/, 'green'],
  [/^(declined|closed|deactivated|revoked|retired|ended|expired|canceled|cancelled|erased)\b/, 'dim'],
  [/^(unassigned|pending|waiting|waits|suspended|note|planned)\b/, 'yellow'],
  [/^(bad|damaged|down)\b/, 'red'],
]

function formatOf(title: string, cell: string): Format | undefined {
  if (title === 'STATE') return stateFormats.find(([words]) => words.test(cell))?.[1]
  // A count of requests at risk, or the mark of one.
  if (/\bRISK$/.test(title) && /^([1-9]|!!|\?\?)/.test(cell)) return ['red', 'bold']
  return undefined
}

function colored(format: Format | undefined, cell: string): string {
  if (format === undefined) return cell
  const text = cell.trimEnd()
  return text === '' ? cell : emphasized(format, text) + cell.slice(text.length)
}

function cellOf(value: string | number | null): string {
  return oneLine(String(value ?? '-')).trim()
}

/** Styles the text if stdout is a terminal with colors and NO_COLOR is not set. */
function emphasized(format: Format, text: string): string {
  return stdout().isTTY ? styleText(format, text, { stream: stdout() }) : text
}
