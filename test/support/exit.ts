export interface Exit {
  /** Null if a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | number | null
  readonly stdout: string
  readonly stderr: string
}
