import { openService } from '../../src/service'
import type { Storage } from '../support/storage'
import { type Command, command, type Ended } from './commands'

/** A second program on a database, which carries out commands. */
export interface Other extends AsyncDisposable {
  /** Carries a command out at an instant (ms). */
  do(asked: Command, at: number): Promise<Ended>
}

/** The same in this process: another service with connections of its own. */
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
