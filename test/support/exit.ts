export interface Exit {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | number | null
  readonly stdout: string
  readonly stderr: string
}
