/** Memoizes `make` for up to `most` texts. Does not memoize texts longer than `mostCharacters`. */
export function memo<Made>(
  most: number,
  make: (text: string) => Made,
  mostCharacters = 1_000,
): (text: string) => Made {
  const known = new Map<string, Made>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (text.length > mostCharacters) return make(text)
    if (known.size >= most) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}
