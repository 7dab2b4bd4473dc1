/** Tells on stderr what is going on, in one line that is replaced; nothing where stderr is no terminal. */
export interface Progress {
  step(what: string): Promise<void>
  end(): void
}

export function startProgress(): Progress {
  if (!process.stderr.isTTY) return { step: async () => {}, end: () => {} }
  const show = (text: string) => process.stderr.write(`\r\x1b[K${text}`)
  return {
    step: async (what) => {
      show(`${what}…`)
      // What follows may keep this thread busy: let the line out first.
      await Bun.sleep(0)
    },
    end: () => show(''),
  }
}
