/** As `1 provider`, `2 rows of schedules`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.replace(/^\w+/, '$&s')}`
}

/** The first of many words, and how many more there are. */
export function firstOf(words: readonly string[], most: number, separator = ', '): string {
  const shown = words.slice(0, most).join(separator)
  const more = words.length - most
  if (more <= 0) return shown
  return `${shown}${separator === ', ' ? ' ' : separator}and ${more} more`
}

/** As `a, b and c`. */
export function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join('')
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

/** How the columns of a table give way to a narrow terminal, by their titles. */
export interface GiveWay {
  /** What is left out first, in this order; the last columns go next. */
  readonly leaveOut?: readonly string[]
  /** Prose that goes on below itself where others are shortened; the column DETAIL unless others are named. */
  readonly fold?: readonly string[]
  /** What is left out rather than shortened, as a time is that ends with a place. */
  readonly whole?: readonly string[]
}

/** A table as it is laid out: lines of cells, each with the spaces up to the next. */
export interface Layout {
  readonly titles: readonly string[]
  /** For each row its lines: one, or more where a column is folded. */
  readonly rows: readonly (readonly (readonly string[])[])[]
  /** What had no room at all. */
  readonly leftOut: readonly string[]
}

const gap = 2
/** To what a column is shortened at most. */
const leastWidth = 12
/** The same for what is folded. */
const leastFolded = 24
/** They say which row it is, and what somebody must not miss. */
const kept: readonly string[] = ['STATE', 'RISK', 'SEVERITY']
const prose: readonly string[] = ['DETAIL']
/** Numbers, dates, instants and phones, with a weekday before or a zone behind: half of one misleads. */
const figure = /^(?:[A-Z][a-z]{1,3}\.? )?[-+\d][-+\d:.,/%TZ ]*(?: ?[A-Za-z]{1,5})?$/

/**
 * Lays out cells in columns that are no wider than a terminal: the widest texts are shortened first; if that does not do,
 * columns are left out. What says which row it is, its state, its risk and figures are never shortened.
 *
 * @param width Infinity for whatever the cells take
 */
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

/** The columns that have no room: as many as have to go, but for those that fit where a wider one went. */
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
  /** As narrow as it may become. */
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

/** The widths of columns, of which the widest gave way as far as is needed, and as they may. */
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

/** A text of so many columns at most, with an ellipsis where it was longer. */
export function shorten(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Bun.stringWidth(kept + segment) >= width) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** A text in lines of so many columns at most, broken between words where that can be. */
export function wrap(text: string, width: number): string[] {
  if (Bun.stringWidth(text) <= width) return [text]
  return Bun.wrapAnsi(text, width, { hard: true }).split('\n')
}
