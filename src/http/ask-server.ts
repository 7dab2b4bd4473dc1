import type { AskServer } from '../operations/status'
import { urlHost } from './url-host'

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
