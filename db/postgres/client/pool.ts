import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import type { Connection } from './connection'
import { DatabaseFailure, isBroken, unwrapped } from './failure'
import { Hosts } from './hosts'
import { Deadline, timeouts } from './timeouts'

/** How to make a pool. */
export interface PoolOptions<On> {
  readonly address: DatabaseAddress
  /** The password for a host; null for none. */
  readonly password: (host: DatabaseHost) => string | null
  /** The most connections. */
  readonly size: number
  /** Makes what works on a connection, once for each. */
  readonly make: (connection: Connection) => On
  /** How long one call may take, unless it says otherwise. */
  readonly deadlineMillis?: number
}

/** Does a work on a connection within a deadline in ms, as Pool.use does. */
export type OnConnection = <T>(
  work: (connection: Connection) => Promise<T>,
  deadlineMillis?: number,
) => Promise<T>

interface Place<On> {
  readonly connection: Connection
  readonly on: On
  readonly generation: number
  /** On performance's clock, in ms. */
  freeSince: number
}

/** After no host let us in, the next attempt to connect waits this long. */
const pauseMillis = 100
/** A connection that was idle for longer is closed: load balancers and firewalls forget it without a word. */
const idleMillis = 60_000
/** The share of a call's time that it may wait for a connection. Overload then fails fast, and does not look like a dead server. */
const waitingShare = 0.75
/** The server cancels a statement before its call is late: only a server that does not answer costs the connections. */
const statementShare = 0.9

/** Connections to the server that can be written, each for one work at a time. */
export class Pool<On> {
  private readonly hosts: Hosts
  private readonly free: Place<On>[] = []
  private readonly waiting: (() => void)[] = []
  /** Turns that are taken: connections in use or being opened. */
  private used = 0
  /** Connections of earlier generations are not used again: their server was lost. */
  private generation = 0
  private failure: { readonly error: unknown; readonly until: number } | null = null
  private isClosed = false
  private readonly idle = Promise.withResolvers<void>()

  constructor(private readonly options: PoolOptions<On>) {
    this.hosts = new Hosts(options.address, options.password)
  }

  /** Connections, and works that wait for one. */
  get counts(): { readonly free: number; readonly used: number; readonly waiting: number } {
    return { free: this.free.length, used: this.used, waiting: this.waiting.length }
  }

  /**
   * Does a work on a connection of its own, and rolls back a transaction that it leaves open. A work that is late has its
   * connection closed, and all others of the pool are replaced.
   *
   * @throws DatabaseFailure, or what the work throws
   */
  async use<T>(work: (on: On) => Promise<T>, deadlineMillis = this.deadlineMillis): Promise<T> {
    const endsAt = performance.now() + deadlineMillis
    const place = await this.take(deadlineMillis * waitingShare)
    const { connection } = place
    const late = Promise.withResolvers<never>()
    // A standstill of this process is not the server's fault.
    const left = Math.max(endsAt - performance.now(), deadlineMillis * (1 - waitingShare))
    using _ = new Deadline(left, () => {
      late.reject(new DatabaseFailure(connection.whenBroken, 'ETIMEDOUT'))
      connection.close()
    })
    const run = async () => {
      connection.mayHaveCommitted = false
      await connection.allowStatements(statementLimit(deadlineMillis))
      const done = await work(place.on)
      // A transaction on a connection that has ended is rolled back.
      if (connection.isOpen && !connection.hasEnded) throw new Error('a work has left its transaction open')
      return done
    }
    try {
      return await Promise.race([run(), late.promise])
    } catch (error) {
      const failure = unwrapped(error)
      const isOfNoUse =
        failure instanceof DatabaseFailure && (isBroken(failure) || failure.meaning === 'readOnly')
      if (isOfNoUse && place.generation === this.generation) this.replaceAll()
      throw failure
    } finally {
      this.giveBack(place)
    }
  }

  /** Begins no work any more, waits for those that are under way, and closes all connections. */
  close(): Promise<void> {
    this.isClosed = true
    this.replaceAll()
    if (this.used === 0) this.idle.resolve()
    return this.idle.promise
  }

  private get deadlineMillis(): number {
    return this.options.deadlineMillis ?? timeouts.call
  }

  private async take(waitMillis: number): Promise<Place<On>> {
    const taken = this.takeTurn()
    const late = Promise.withResolvers<never>()
    using _ = new Deadline(waitMillis, () => late.reject(new DatabaseFailure('busy')))
    return await Promise.race([taken, late.promise]).catch((error) => {
      // A late turn is for the next that waits.
      taken.then(
        (place) => this.giveBack(place),
        () => undefined,
      )
      throw error
    })
  }

  private async takeTurn(): Promise<Place<On>> {
    if (this.isClosed) throw new DatabaseFailure('busy')
    if (this.used < this.options.size) this.used += 1
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      if (this.isClosed) throw new DatabaseFailure('busy')
      return this.popFree() ?? (await this.open())
    } catch (error) {
      this.endTurn()
      throw error
    }
  }

  /** The connection that was used last: the others may become idle for too long. */
  private popFree(): Place<On> | undefined {
    const place = this.free.pop()
    if (place && performance.now() - place.freeSince < idleMillis) return place
    place?.connection.close()
    this.closeFree()
    return undefined
  }

  private async open(): Promise<Place<On>> {
    if (this.failure && performance.now() < this.failure.until) throw this.failure.error
    const { generation } = this
    try {
      const connection = await this.hosts.open({
        statementMillis: statementLimit(this.deadlineMillis),
        onEnd: (ended) => this.drop(ended),
      })
      return { connection, on: this.options.make(connection), generation, freeSince: 0 }
    } catch (error) {
      this.failure = { error, until: performance.now() + pauseMillis }
      throw error
    }
  }

  private async giveBack(place: Place<On>): Promise<void> {
    const { connection, generation } = place
    const isCurrent = () => !connection.hasEnded && generation === this.generation && !this.isClosed
    if (isCurrent()) await connection.reset()
    place.freeSince = performance.now()
    if (isCurrent()) this.free.push(place)
    else connection.close()
    this.endTurn()
  }

  /** Passes the turn on to the work that waits longest. */
  private endTurn(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.used -= 1
    if (this.isClosed && this.used === 0) this.idle.resolve()
  }

  /** Forgets a connection that has ended while it was free. */
  private drop(connection: Connection): void {
    const at = this.free.findIndex((place) => place.connection === connection)
    if (at >= 0) this.free.splice(at, 1)
  }

  /** Uses no present connection again: free ones are closed, the others when their works end. */
  private replaceAll(): void {
    this.generation += 1
    this.closeFree()
  }

  private closeFree(): void {
    for (const { connection } of this.free.splice(0)) connection.close()
  }
}

function statementLimit(deadlineMillis: number): number {
  return Math.ceil(statementShare * deadlineMillis)
}
