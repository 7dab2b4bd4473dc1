/**
 * Remembers what was made of a text: what many records say is then made once, and held in memory once.
 *
 * @param make what is made must not be changed by anybody
 */
export function madeOnce<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>()
  return (text) => {
    let made = known.get(text)
    if (made === undefined) {
      made = make(text)
      known.set(text, made)
    }
    return made
  }
}
