import type { AskServer } from '../../operations/status'

/** A host as URLs write it; one that stands for all addresses is reached at the loopback one. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** How long a server has to answer whoever asks whether it is there, or can store what is sent to it: for that it tries to. */
const answerMillis = 2_000

/** Asks a server at what it noted that it listens on. */
export const askServer: AskServer = async ({ host, port, isSecure }) => {
  const isFine = (path: string) => {
    // Whatever proxy the environment names: it is asked on this machine.
    // Its certificate names its public address, and nothing is handed over here.
    const tls = { rejectUnauthorized: false }
    const options = { proxy: false, tls, signal: AbortSignal.timeout(answerMillis) } as RequestInit
    return fetch(`${isSecure ? 'https' : 'http'}://${urlHost(host)}:${port}${path}`, options).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  if (!(await isFine('/livez'))) return 'silent'
  return (await isFine('/readyz')) ? 'up' : 'unready'
}
