import { Elysia } from 'elysia'
import { documents } from './docs'
import { endpoints } from './endpoints'
import { answerTo } from './errors'
import { gate, type Serving } from './gate'
import { health } from './health'
import { seenOf } from './seen'

/**
 * The application: it answers requests and never listens.
 *
 * @param addressOf where a request came from
 * @param isReady whether what is sent can be stored at the moment; always, unless given
 */
export function createApp(
  serving: Serving,
  addressOf: (request: Request) => string,
  isReady: () => Promise<boolean> = async () => true,
) {
  return (
    new Elysia({
      // The contract depends on all three: a path without its last slash is the same path; what is
      // validated is what was sent; a Host header cannot move the beginning of the path.
      strictPath: false,
      normalize: false,
      handler: { standardHostname: false },
    })
      // Before any plugin: it answers for those alone that come after.
      .onError(({ error, code, request }) => answerTo(error, code, seenOf(request)))
      .use(health(isReady))
      .use(serving.noDocs ? new Elysia() : documents(endpoints, serving, addressOf))
      .use(gate(endpoints, serving, addressOf))
  )
}
