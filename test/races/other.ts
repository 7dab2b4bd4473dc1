import { openService } from '../../src/service'
import type { Storage } from '../support/storage'
import { type Command, command, type Ended } from './commands'

/** A second service on a database, which runs commands. */
export interface Other extends AsyncDisposable {
  do(asked: Command, at: number): Promise<Ended>
}

/** Opens a second service in this process, with separate connections. */
export async function openOtherService(storage: Storage): Promise<Other> {
  let now = 0
  const service = await openService({
    purpose: 'sandbox',
    ...storage,
    create: false,
    clock: { now: () => now },
    report: () => {},
  })
  return {
    do(asked, at) {
      now = at
      return command(service.context, asked, at)
    },
    [Symbol.asyncDispose]: () => service.close(),
  }
}
