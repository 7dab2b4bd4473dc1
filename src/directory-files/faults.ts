import { Refusal } from '../domain/errors'
import type { Fault } from '../domain/validation'

/** Where something is wrong: in a row of a table, or in an entry of a list. */
export interface Place {
  /** The whole of it, as `licenses.csv line 22, until` or `providers[12].licenses[0].until`. */
  readonly path: string
  /** What it has in common with the same place of other rows or entries, as `licenses.csv, until`. */
  readonly column: string
  /** What it has not, as `line 22`. */
  readonly row: string
  readonly noun: 'row' | 'entry'
}

/** One thing that is wrong with a description of a directory. */
export interface DirectoryFault extends Fault, Place {
  /** What stands there; undefined where that is nothing, or is not the fault. */
  readonly value?: unknown
}

/** A description of a directory that is refused, with every fault; faults of one kind in one column are told together. */
export class DirectoryInvalid extends Refusal {
  /** What is wrong, a line each. */
  readonly lines: readonly string[]

  constructor(readonly faults: readonly DirectoryFault[]) {
    const lines = faultLines(faults)
    super('directory_invalid', lines.join('\n'))
    this.lines = lines
  }
}

/** The place in a document that a path names. */
export function placeInDocument(path: string): Place {
  const [, row = path] = /^(.*\])[^\]]*$/.exec(path) ?? []
  return { path, column: path.replace(/\[\d+\]/g, '[]'), row, noun: 'entry' }
}

/** As many faults of a kind as are told one by one, with what stands in each place. */
const mostSingly = 3

function faultLines(faults: readonly DirectoryFault[]): string[] {
  const kindOf = ({ column, fault }: DirectoryFault) => `${column}: ${fault}`
  const kinds = Map.groupBy(faults, kindOf)
  return faults.flatMap((fault) => {
    const alike = kinds.get(kindOf(fault)) as DirectoryFault[]
    if (alike.length <= mostSingly) return [`${fault.path || 'the file'}: ${said(fault)}`]
    return alike[0] === fault ? [mergeAlike(fault, alike)] : []
  })
}

function mergeAlike({ column, row, noun, ...first }: DirectoryFault, alike: readonly DirectoryFault[]) {
  const count = new Set(alike.map((fault) => fault.row)).size
  const nouns = { row: count === 1 ? 'row' : 'rows', entry: count === 1 ? 'entry' : 'entries' }
  return `${column}: ${count} ${nouns[noun]}, first ${row}: ${said(first)}`
}

function said({ value, fault }: Pick<DirectoryFault, 'value' | 'fault'>): string {
  if (value === undefined || value === '') return fault
  const begin = quoted(value)
  if (fault.startsWith('not ')) return `${begin} is ${fault}`
  return /^(must|names|holds) /.test(fault) ? `${begin} ${fault}` : `${begin}: ${fault}`
}

const mostShown = 60

/** A value that the operator wrote, on one line and shortened. */
export function quoted(value: unknown): string {
  if (typeof value !== 'string') return shortenValue(JSON.stringify(value))
  const text = shortenValue(value)
  return JSON.stringify(text)
}

function shortenValue(text: string): string {
  if (text.length <= mostShown) return text
  return `${[...text.slice(0, 2 * mostShown)].slice(0, mostShown - 1).join('')}…`
}
