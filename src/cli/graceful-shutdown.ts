import { closeSync, openSync, readFileSync } from 'node:fs'
import { removeBegun } from '../files/durable'

/**
 * Graceful shutdown: resolves when the process is asked to stop, by Ctrl-C, a supervisor or a terminal that goes.
 * Asking again changes nothing: one Ctrl-C under `npm start` arrives from the terminal, from npm and from the script
 * that started the program.
 *
 * @param reload is done at SIGHUP, as a service's supervisor asks for it, where no terminal has gone
 */
export function shutdownRequest(reload?: () => void): Promise<void> {
  return new Promise((resolve) => {
    const ending = endingSignals().filter((signal) => !(reload && signal === 'SIGHUP'))
    let isEnding = false
    const end = () => {
      isEnding = true
      resolve()
    }
    for (const signal of ending) process.on(signal, end)
    if (!reload) return
    const isTied = hasTerminal() && !isHangUpIgnored()
    process.on('SIGHUP', () => {
      // A shell that ends tells its jobs before the terminal is gone.
      const isGone = () => isTied && !hasTerminal()
      const decide = () => {
        // A listener that was opened behind the stop would keep the process.
        if (isEnding) return
        if (isGone()) end()
        else reload()
      }
      setTimeout(decide, terminalMillis)
    })
  })
}

/** How long a terminal takes to go. */
const terminalMillis = 100

/** Whether there is a terminal that controls the process (termios(3), POSIX.1 §11.1.3). */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** Has a signal that ends the process remove what was begun, before it ends it as it would have done. */
export function endCleanly(): void {
  for (const signal of endingSignals()) {
    process.once(signal, () => {
      removeBegun()
      process.kill(process.pid, signal)
    })
  }
}

function endingSignals(): NodeJS.Signals[] {
  return isHangUpIgnored() ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
}

/** Whether the process was started under nohup, to outlive its terminal; false where that cannot be told. */
function isHangUpIgnored(): boolean {
  try {
    const [, ignored = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    // SIGHUP is signal 1, the mask's lowest bit.
    return (BigInt(`0x${ignored}`) & 1n) === 1n
  } catch {
    return false
  }
}
