import builtIn from '../../fixtures/directory.json'
import { formatDate, parseDate } from '../scheduling/calendar'
import { type DirectoryFile, isDirectoryFile, type ProviderInFile } from './document'

/** The date on which the built-in directory is based. */
const writtenOn = parseDate('2026-01-05') as number

/** Returns the built-in directory with its dates shifted to `today` (days since 1970-01-01). */
export function builtInDirectory(today: number): DirectoryFile {
  return moveDates(builtIn, today - writtenOn) as DirectoryFile
}

/** Shifts every text that is a date, or that starts with a date and `T`. */
function moveDates(document: unknown, days: number): unknown {
  if (typeof document === 'string') {
    const day = /^\d{4}-\d{2}-\d{2}(T|$)/.test(document) ? parseDate(document.slice(0, 10)) : null
    return day === null ? document : formatDate(day + days) + document.slice(10)
  }
  if (Array.isArray(document)) return document.map((element) => moveDates(element, days))
  if (typeof document === 'object' && document !== null) {
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, moveDates(value, days)]))
  }
  return document
}

const firstNames = ['Amber', 'Birch', 'Cedar', 'Dahlia', 'Elm', 'Fern', 'Garnet', 'Hazel', 'Iris', 'Juniper']
const lastNames = 'Brookvale Cloverfield Dawnridge Eastwillow Foxglen Greywater Highmeadow'.split(' ')

/** Adds `count` providers: copies of existing ones with a new ref and name. Returns an invalid document unchanged. */
export function withGenerated(directory: unknown, count: number): unknown {
  if (!isDirectoryFile(directory)) return directory
  const { providers } = directory
  const models = providers.filter(({ licenses, workingHours }) => licenses.length * workingHours.length > 0)
  if (models.length === 0) return directory
  const generated = Array.from({ length: count }, (_, index): ProviderInFile => {
    const model = models[index % models.length] as ProviderInFile
    return {
      ...model,
      ref: `generated-${index + 1}`,
      firstName: firstNames[index % firstNames.length] as string,
      lastName: `${lastNames[index % lastNames.length]} ${index + 1}`,
    }
  })
  return { ...directory, providers: [...providers, ...generated] }
}
