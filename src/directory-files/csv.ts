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
 * The rows of a CSV file (RFC 4180, UTF-8, a byte order mark or not, lines that end in LF too) that hold
 * anything.
 *
 * @throws CsvFault for a quote that is misplaced or never closed
 */
export function readCsv(bytes: Uint8Array): CsvRow[] {
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
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { bytes: end }) => {
        rows.push({ line: nextRowLine(), cells })
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

/** Rows as RFC 4180 writes them. */
export function formatCsv(rows: readonly (readonly string[])[]): string {
  // By itself the library quotes a CR LF, but neither of the two alone.
  return stringify(rows as string[][], { record_delimiter: '\r\n', quoted_match: /[\r\n]/ })
}
