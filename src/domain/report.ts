/** How much what is told matters: all is as it was asked to be, somebody should look, something fails. */
export type Level = 'info' | 'warn' | 'error'

/** Is told what an operator should know of, in one line; a warning unless it is said to be something else. */
export type Report = (line: string, level?: Level) => void
