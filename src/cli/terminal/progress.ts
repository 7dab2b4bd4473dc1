import type { ReportProgress } from '../../domain/measures'

/** Shows progress on stderr, in one line that is overwritten. Shows nothing if stderr is not a terminal. */
export interface Progress {
  readonly progress: ReportProgress
  /** Resolves when the line is written. After that, the caller may block the thread. */
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
      await Bun.sleep(0)
    },
    end: () => show(''),
  }
}

export async function withProgress<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress()
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}
