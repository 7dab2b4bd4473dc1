import type { ReportProgress } from '../../domain/measures'

/** Tells on stderr what is going on, in one line that is replaced; nothing where stderr is no terminal. */
export interface Progress {
  /** Tells and goes on, for work that leaves this thread free. */
  readonly progress: ReportProgress
  /** Tells before this thread is kept busy. */
  step(what: string): Promise<void>
  end(): void
}

export function startProgress(): Progress {
  if (!process.stderr.isTTY) return { progress: () => {}, step: async () => {}, end: () => {} }
  let shown = ''
  const show = (text: string) => {
    if (text !== shown) process.stderr.write(`\r\x1b[K${text}`)
    shown = text
  }
  const progress: ReportProgress = (what, share) =>
    show(share === undefined ? `${what}…` : `${what}… ${Math.min(100, Math.floor(share * 100))} %`)
  return {
    progress,
    step: async (what) => {
      progress(what)
      // What follows may keep this thread busy: let the line out first.
      await Bun.sleep(0)
    },
    end: () => show(''),
  }
}

/** Tells of a work for as long as it takes. */
export async function withProgress<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress()
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}
