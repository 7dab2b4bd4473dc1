import type { Connection } from '../../../db/postgres/client/connection'
import { DatabaseFailure } from '../../../db/postgres/client/failure'
import { Pool } from '../../../db/postgres/client/pool'
import { type DatabaseAddress, parseDatabaseAddress } from '../../../src/domain/addresses'

export function addressOf(url: string): DatabaseAddress {
  const address = parseDatabaseAddress(url)
  if (typeof address === 'string') throw new Error(address)
  return address
}

/** A pool of plain connections with a long deadline. Disposing closes it. */
export class TestPool extends Pool<Connection> implements AsyncDisposable {
  constructor(url: string, size = 2, deadlineMillis = 10_000) {
    const address = addressOf(url)
    super({
      address,
      password: () => address.password,
      size,
      deadlineMillis,
      make: (connection) => connection,
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => {
    if (!(error instanceof DatabaseFailure)) throw error
    return [error.meaning, error.code]
  })
}

/** Collects uncaught errors and unhandled rejections. */
export class Uncaught implements Disposable {
  readonly list: unknown[] = []
  readonly #note = (error: unknown) => this.list.push(error)

  constructor() {
    process.on('unhandledRejection', this.#note)
    process.on('uncaughtException', this.#note)
  }

  [Symbol.dispose](): void {
    process.off('unhandledRejection', this.#note)
    process.off('uncaughtException', this.#note)
  }
}
