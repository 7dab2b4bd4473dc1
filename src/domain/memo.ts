/** Longer texts are not remembered. */
const mostCharacters = 1_000

/** Remembers what `make` returns for a text, of `most` texts at once: for what is made again and again. */
export function memo<Made>(most: number, make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined || text.length > mostCharacters) return found ?? make(text)
    if (known.size >= most) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}
