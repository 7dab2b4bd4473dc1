import type { AskServer } from '../operations/status'
import { urlHost } from './url-host'

/** How long a server has to answer whoever asks whether it is there, and whether it can store what is sent to it. */
const [answerMillis, readyMillis] = [500, 1_500]

/** Asks a server at what it noted that it listens on. */
export const askServer: AskServer = async ({ host, port, isSecure }) => {
  const isFine = (path: string, millis: number) => {
    // Whatever proxy the environment names: it is asked on this machine.
    // Its certificate names its public address, and nothing is handed over here.
    const tls = { rejectUnauthorized: false }
    const options = { proxy: false, tls, signal: AbortSignal.timeout(millis) } as RequestInit
    return fetch(`${isSecure ? 'https' : 'http'}://${urlHost(host)}:${port}${path}`, options).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  if (!(await isFine('/livez', answerMillis))) return 'silent'
  return (await isFine('/readyz', readyMillis)) ? 'up' : 'unready'
}
