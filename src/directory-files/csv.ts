import { CsvError, parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'

export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

export class CsvFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/**
 * Parses CSV (RFC 4180) and skips empty rows. Also accepts the variants that spreadsheets write: semicolons or tabs
 * as separators, LF line ends, a byte order mark, and UTF-16 with a byte order mark.
 * @throws CsvFault for a misplaced or unclosed quote, and for bytes that are not text
 */
export function readCsv(file: Uint8Array): CsvRow[] {
  const { text, bytes } = decode(file)
  const rows: CsvRow[] = []
  // Lines are counted here, because csv-parse counts a CR LF inside a cell as two lines.
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
  CSV_QUOTE_NOT_CLOSED: 'the row that begins here has a quote that is not closed',
  INVALID_OPENING_QUOTE:
    'this row has a quote inside an unquoted cell: quote the whole cell and double the quote',
  CSV_INVALID_CLOSING_QUOTE: 'this row has a quote inside a quoted cell: double it',
}

const lineFeed = 10
const carriageReturn = 13

/** Returns the text of a file, and the same text as UTF-8 bytes for csv-parse. */
function decode(file: Uint8Array): { text: string; bytes: Uint8Array } {
  const isUtf16 = file[0] === 0xff && file[1] === 0xfe
  try {
    const text = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(file)
    return { text, bytes: isUtf16 ? new TextEncoder().encode(text) : file }
  } catch {
    throw new CsvFault(
      1,
      isUtf16
        ? 'the file is not valid UTF-16: save it as CSV UTF-8'
        : 'the file is not valid UTF-8: save it as CSV UTF-8',
    )
  }
}

/** Returns the separator that occurs most often in the header row. */
function separatorOf(text: string): string {
  const [header = ''] = /[^\r\n]+/.exec(text) ?? []
  const names = header.replace(/"[^"]*"/g, '')
  const count = (separator: string) => names.split(separator).length
  return [',', ';', '\t'].reduce((a, b) => (count(b) > count(a) ? b : a))
}

export type CsvCell = string | number | boolean | null

/** Formats rows as RFC 4180. Protects texts against formula injection; numbers are unchanged. */
export function formatCsv(rows: readonly (readonly CsvCell[])[]): string {
  const written = rows.map((cells) =>
    cells.map((cell) => (typeof cell === 'string' ? guardFormula(cell) : String(cell ?? ''))),
  )
  // Spreadsheets may split a cell at a lone CR or LF, a semicolon or a tab. csv-stringify would not quote such a cell.
  return stringify(written, { record_delimiter: '\r\n', quoted_match: /[\r\n;\t]/ })
}

/**
 * Matches the start of a formula (OWASP, CSV injection). Spaces or separators may come before the formula.
 * `%` marks the position of the guarding quote.
 */
const formula = String.raw`(?<=^|[;\t\r\n])%(?='*[^\S\t\r\n]*[=+\-@＝＋－＠])|^%(?='*[\t\r\n])`

const formulaStarts = new RegExp(formula.replaceAll('%', ''), 'g')
const guardQuotes = new RegExp(formula.replaceAll('%', "'"), 'g')

/**
 * Puts a quote before a formula, even if the formula already has a quote. So unguardFormula can remove one quote and
 * return the exact text.
 */
export function guardFormula(text: string): string {
  // A phone number without other signs is no formula.
  if (/^\+\d[\d ]*$/.test(text)) return text
  return text.replace(formulaStarts, "'")
}

/** Returns the original text of a cell that guardFormula wrote. */
export function unguardFormula(cell: string): string {
  return cell.includes("'") ? cell.replace(guardQuotes, '') : cell
}
