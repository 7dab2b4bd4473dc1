import { readFileSync } from 'node:fs'

/**
 * Whether the kernel holds anything for a port that this process has not been given: connections whose clients have sent
 * nothing yet (TCP_DEFER_ACCEPT keeps them from being accepted, and closing resets them), those that wait to be accepted, and
 * bytes that were not read. False where that cannot be had: Linux alone tells it (proc_pid_net(5)).
 */
export function hasWaiting(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  // Local address, remote address, state (03 has sent nothing, 01 is connected, 0A listens), tx_queue:rx_queue.
  const waiting = new RegExp(`:${hex} [0-9A-F]+:[0-9A-F]{4} (?:03|(?:01|0A) [0-9A-F]{8}:(?!0{8}))`)
  return ['tcp', 'tcp6'].some((table) => waiting.test(read(`/proc/self/net/${table}`)))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
