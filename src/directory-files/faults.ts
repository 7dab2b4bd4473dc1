import { Refusal } from '../domain/errors'
import type { Fault } from '../domain/validation'

/** The place of a fault: in a row of a table, or in an entry of a list. */
export interface Place {
  /** For example `licenses.csv line 22, until` or `providers[12].licenses[0].until`. */
  readonly path: string
  /** The path without the row, for example `licenses.csv, until`. */
  readonly column: string
  /** For example `line 22`. */
  readonly row: string
  readonly noun: 'row' | 'entry'
}

export interface DirectoryFault extends Fault, Place {
  /** The faulty value; undefined if the value is missing or is not the cause of the fault. */
  readonly value?: unknown
}

/** A rejected directory with every fault. Equal faults in one column are reported together. */
export class DirectoryInvalid extends Refusal {
  readonly lines: readonly string[]

  constructor(readonly faults: readonly DirectoryFault[]) {
    const lines = faultLines(faults)
    super('directory_invalid', lines.join('\n'))
    this.lines = lines
  }
}

export function placeInDocument(path: string): Place {
  const [, row = path] = /^(.*\])[^\]]*$/.exec(path) ?? []
  return { path, column: path.replace(/\[\d+\]/g, '[]'), row, noun: 'entry' }
}

/** Up to this many equal faults are listed one by one. */
const maxListedSingly = 3

function faultLines(faults: readonly DirectoryFault[]): string[] {
  const kindOf = ({ column, fault }: DirectoryFault) => `${column}: ${fault}`
  const kinds = Map.groupBy(faults, kindOf)
  return faults.flatMap((fault) => {
    const equal = kinds.get(kindOf(fault)) as DirectoryFault[]
    if (equal.length <= maxListedSingly) return [`${fault.path || 'the file'}: ${describeFault(fault)}`]
    return equal[0] === fault ? [mergeEqual(fault, equal)] : []
  })
}

function mergeEqual({ column, row, noun, ...first }: DirectoryFault, equal: readonly DirectoryFault[]) {
  const count = new Set(equal.map((fault) => fault.row)).size
  const nouns = { row: count === 1 ? 'row' : 'rows', entry: count === 1 ? 'entry' : 'entries' }
  return `${column}: ${count} ${nouns[noun]}, first ${row}: ${describeFault(first)}`
}

function describeFault({ value, fault }: Pick<DirectoryFault, 'value' | 'fault'>): string {
  if (value === undefined || value === '') return fault
  const shown = quoted(value)
  return /^(must|is) /.test(fault) ? `${shown} ${fault}` : `${shown}: ${fault}`
}

const maxShownLength = 60

/** Quotes a value from the operator's file on one line, shortened. */
export function quoted(value: unknown): string {
  if (typeof value !== 'string') return shortenValue(JSON.stringify(value))
  const text = shortenValue(value)
  return JSON.stringify(text)
}

function shortenValue(text: string): string {
  if (text.length <= maxShownLength) return text
  return `${[...text.slice(0, 2 * maxShownLength)].slice(0, maxShownLength - 1).join('')}…`
}
