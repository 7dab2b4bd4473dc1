/** For example `1 provider`, `2 rows of schedules`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.replace(/^\w+/, '$&s')}`
}

/** For example `on-1, on-2 and 3 more`. */
export function firstOf(words: readonly string[], most: number, separator = ', '): string {
  const shown = words.slice(0, most).join(separator)
  const more = words.length - most
  if (more <= 0) return shown
  return `${shown}${separator === ', ' ? ' ' : separator}and ${more} more`
}

/** For example `a, b and c`. */
export function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join('')
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

/** Columns to hide or wrap if a table is too wide for the terminal. Each column is given by its title. */
export interface GiveWay {
  /** These columns are hidden first, in this order. Then the other columns are hidden, from right to left. */
  readonly leaveOut?: readonly string[]
  readonly fold?: readonly string[]
  /** Columns that are hidden rather than shortened, for example a time followed by its time zone. */
  readonly whole?: readonly string[]
}

export interface Layout {
  readonly titles: readonly string[]
  /** Each row is a list of lines, and each line a list of cells. If a column is wrapped, a row has several lines. */
  readonly rows: readonly (readonly (readonly string[])[])[]
  readonly leftOut: readonly string[]
}

const gap = 2
const leastWidth = 12
const leastFolded = 24
/** Columns that are never hidden or shortened, because staff must not miss them. */
const kept: readonly string[] = ['STATE', 'RISK', 'SEVERITY']
const prose: readonly string[] = ['DETAIL']
/** Matches numbers, dates, instants and phone numbers. Shortened values of these kinds would mislead. */
const figure = /^(?:[A-Z][a-z]{1,3}\.? )?[-+\d][-+\d:.,/%TZ ]*(?: ?[A-Za-z]{1,5})?$/

/** Shortens the widest columns. If that is not enough, hides columns. @param width Infinity for no limit */
export function layOut(
  titles: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
  { leaveOut = [], fold = prose, whole = [] }: GiveWay = {},
): Layout {
  const columns = titles.map((title, place) => columnOf(title, place, cells, { fold, whole }))
  const goFirst = [
    ...leaveOut.flatMap((title) => columns.filter((column) => column.title === title)),
    ...columns.toReversed().filter(({ title }) => !leaveOut.includes(title)),
  ].filter(({ place, title }) => place > 0 && !kept.includes(title))
  const out = columnsOut(columns, goFirst, width)
  const shown = columns.filter((column) => !out.includes(column))
  const widths = shortened(shown, width)
  const lineOf = (texts: readonly string[]) => texts.map((text, at) => pad(text, widths[at] ?? 0))
  return {
    titles: lineOf(shown.map(({ title }) => title)),
    rows: cells.map((row) => {
      const parts = shown.map(({ place, isFolded }, at) => {
        const [text, room] = [row[place] ?? '', widths[at] ?? 0]
        return isFolded ? wrap(text, room) : [shorten(text, room)]
      })
      const lines = Math.max(...parts.map((part) => part.length))
      return Array.from({ length: lines }, (_, line) => lineOf(parts.map((part) => part[line] ?? '')))
    }),
    leftOut: out.map(({ title }) => title),
  }
}

/** Hides columns in the order of `goFirst` until the table fits. A wide hidden column may free more room than needed: other hidden columns that fit are then shown again. */
function columnsOut(columns: readonly Column[], goFirst: readonly Column[], width: number): Column[] {
  const fits = (out: readonly Column[]) => {
    const left = columns.filter((column) => !out.includes(column))
    return totalOf(left.map(({ least }) => least)) <= width
  }
  let out: Column[] = []
  for (const next of goFirst) {
    if (fits(out)) break
    out.push(next)
  }
  for (const back of out.toReversed()) {
    const others = out.filter((column) => column !== back)
    if (fits(others)) out = others
  }
  return out
}

interface Column {
  readonly title: string
  readonly place: number
  readonly width: number
  readonly least: number
  readonly isFolded: boolean
}

function columnOf(
  title: string,
  place: number,
  cells: readonly (readonly string[])[],
  { fold, whole }: Required<Pick<GiveWay, 'fold' | 'whole'>>,
): Column {
  const texts = cells.map((row) => row[place] ?? '')
  const width = texts.reduce((most, text) => Math.max(most, Bun.stringWidth(text)), Bun.stringWidth(title))
  const isFolded = fold.includes(title)
  const isRigid =
    place === 0 ||
    kept.includes(title) ||
    whole.includes(title) ||
    (!isFolded && texts.every((text) => figure.test(text)))
  const least = Math.max(Bun.stringWidth(title), isFolded ? leastFolded : leastWidth)
  return { title, place, width, least: isRigid ? width : Math.min(width, least), isFolded }
}

function shortened(columns: readonly Column[], width: number): number[] {
  const widths = columns.map((column) => Math.max(column.least, Math.min(column.width, width)))
  for (let over = totalOf(widths) - width; over > 0; over--) {
    let widest = -1
    for (const [at, { least }] of columns.entries()) {
      const own = widths[at] as number
      if (own > least && own > (widths[widest] ?? 0)) widest = at
    }
    if (widest < 0) break
    ;(widths[widest] as number)--
  }
  return widths
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap * (widths.length - 1))
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)))
}

/** Cuts a text to `width` terminal columns, including an ellipsis. */
export function shorten(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Bun.stringWidth(kept + segment) >= width) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** Wraps a text to lines of `width` terminal columns, between words if possible. */
export function wrap(text: string, width: number): string[] {
  if (Bun.stringWidth(text) <= width) return [text]
  return Bun.wrapAnsi(text, width, { hard: true }).split('\n')
}
