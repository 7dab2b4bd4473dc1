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
