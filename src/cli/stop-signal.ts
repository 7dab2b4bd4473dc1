/**
 * Resolves when the process is asked to stop. Asking again changes nothing: one Ctrl-C under `npm start` arrives
 * from the terminal, from npm and from the script that started the program.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  })
}
