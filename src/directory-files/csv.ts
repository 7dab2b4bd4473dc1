import { CsvError, parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'

/** A row of a CSV file and the line, counted from 1, on which it begins. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

/** What stops the reading of a CSV file, and on which line. */
export class CsvFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/**
 * The rows of a CSV file that hold anything: RFC 4180, or as spreadsheets write it, with semicolons or tabs for commas,
 * in UTF-8 with a byte order mark or without, or in UTF-16 with one, and lines that end in LF too.
 *
 * @throws CsvFault for a quote that is misplaced or never closed, and for bytes that are no text
 */
export function readCsv(file: Uint8Array): CsvRow[] {
  const { text, bytes } = decode(file)
  const rows: CsvRow[] = []
  // Counted here: the library takes a CR LF inside a cell for two lines.
  let [line, position] = [1, 0]
  const moveTo = (end: number) => {
    for (; position < end; position++) if (bytes[position] === lineFeed) line++
  }
  const nextRowLine = () => {
    while (bytes[position] === lineFeed || bytes[position] === carriageReturn) moveTo(position + 1)
    return line
  }
  try {
    parse(bytes, {
      bom: true,
      delimiter: separatorOf(text),
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { bytes: end }) => {
        rows.push({ line: nextRowLine(), cells: cells.map(unguardFormula) })
        moveTo(end)
        return null
      },
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new CsvFault(nextRowLine(), quoteFaults[error.code] ?? 'the row cannot be read')
  }
  return rows
}

const quoteFaults: Partial<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote of the row that begins here is never closed',
  INVALID_OPENING_QUOTE: 'a quote of this row stands inside a cell that is not quoted',
  CSV_INVALID_CLOSING_QUOTE: 'a quote inside a quoted cell of this row must be doubled',
}

const lineFeed = 10
const carriageReturn = 13

/** A file's text, and its bytes in UTF-8, which the library takes. */
function decode(file: Uint8Array): { text: string; bytes: Uint8Array } {
  const isUtf16 = file[0] === 0xff && file[1] === 0xfe
  try {
    const text = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file)
    return { text, bytes: isUtf16 ? new TextEncoder().encode(text) : file }
  } catch {
    throw new CsvFault(1, isUtf16 ? 'the file is not UTF-16' : 'the file is not UTF-8: save it as CSV UTF-8')
  }
}

/** What a table's cells are separated by: of the three, what its header row has most of. */
function separatorOf(text: string): string {
  const [header = ''] = /[^\r\n]+/.exec(text) ?? []
  const names = header.replace(/"[^"]*"/g, '')
  const count = (separator: string) => names.split(separator).length
  return [',', ';', '\t'].reduce((a, b) => (count(b) > count(a) ? b : a))
}

/** What a cell is written from; null for an empty one. */
export type CsvCell = string | number | boolean | null

/** Rows as RFC 4180 writes them. No spreadsheet runs a text, whoever chose it; numbers stand as they are. */
export function formatCsv(rows: readonly (readonly CsvCell[])[]): string {
  const written = rows.map((cells) => cells.map(formatCell))
  // By itself the library quotes a CR LF, but neither of the two alone. The other separators of spreadsheets are quoted too.
  return stringify(written, { record_delimiter: '\r\n', quoted_match: /[\r\n;\t]/ })
}

function formatCell(cell: CsvCell): string {
  return typeof cell === 'string' ? guardFormula(cell) : String(cell ?? '')
}

/**
 * Where a spreadsheet may start a formula: at the start of a cell, and after separators and quotes that it may read
 * differently. Spaces before it are skipped, and full-width forms count too (OWASP, CSV injection).
 */
const formula = String.raw`(?<=^|[;\t\r\n])%(?='*[^\S\t\r\n]*[=+\-@＝＋－＠])|^%(?='*[\t\r\n])`

const places = new RegExp(formula.replaceAll('%', ''), 'g')
const marks = new RegExp(formula.replaceAll('%', "'"), 'g')

/**
 * A text as a cell that no spreadsheet runs as a formula, because a quote stands before it. A text that starts with such
 * quotes gets one more, so that each text has a cell of its own.
 */
export function guardFormula(text: string): string {
  return text.replace(places, "'")
}

/** The text of a cell that `guardFormula` wrote: without those quotes. */
export function unguardFormula(cell: string): string {
  return cell.includes("'") ? cell.replace(marks, '') : cell
}
