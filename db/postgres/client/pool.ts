import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/addresses'
import { Connection } from './connection'
import { DatabaseFailure, isBroken, type Meaning, unwrapped } from './failure'
import { Deadline, timeouts } from './timeouts'

export interface PoolOptions<On> {
  readonly address: DatabaseAddress
  readonly password: (host: DatabaseHost) => string | null
  readonly size: number
  readonly make: (connection: Connection) => On
  readonly deadlineMillis?: number
}

/** Runs work on a connection of the pool. */
export type OnConnection = <T>(
  work: (connection: Connection) => Promise<T>,
  deadlineMillis?: number,
) => Promise<T>

interface Place<On> {
  readonly connection: Connection
  readonly on: On
  readonly generation: number
  /** Value of performance.now(). */
  freeSince: number
}

/** In ms. After a failed connection attempt, new calls fail at once for this long. */
const pauseMillis = 100
/** In ms. A connection that was idle longer is not reused: a load balancer or firewall may have dropped it. */
const idleMillis = 60_000
/** Maximum wait for a connection, as a share of a call's timeout. The rest of the timeout is left for the work. */
const waitingShare = 0.75
/**
 * Maximum time for one statement, as a share of a call's timeout. A slow statement fails before the timeout would close
 * its connection.
 */
const statementShare = 0.9

/** In order of the effort to repair them, least effort first. */
const severity: readonly Meaning[] = ['readOnly', 'unreachable', 'full', 'denied']

/** Connections to the primary server. */
export class Pool<On> {
  private readonly free: Place<On>[] = []
  private readonly waiting: (() => void)[] = []
  private used = 0
  /** Increases when the server is lost. A connection with a lower number is not reused. */
  private generation = 0
  /** Index of the host with the newest connection. */
  private primary = 0
  private failure: { readonly error: unknown; readonly until: number } | null = null
  private isClosed = false
  private readonly idle = Promise.withResolvers<void>()

  constructor(private readonly options: PoolOptions<On>) {}

  get counts(): { readonly free: number; readonly used: number; readonly waiting: number } {
    return { free: this.free.length, used: this.used, waiting: this.waiting.length }
  }

  /**
   * Runs work on a connection. If the work fails, rolls back. If the work times out, replaces all connections.
   * @throws DatabaseFailure
   */
  async use<T>(work: (on: On) => Promise<T>, deadlineMillis = this.deadlineMillis): Promise<T> {
    const endsAt = performance.now() + deadlineMillis
    const place = await this.take(deadlineMillis * waitingShare)
    const { connection } = place
    const late = Promise.withResolvers<never>()
    // The wait may have used up all time if this process was suspended. The work still gets the minimum time.
    const left = Math.max(endsAt - performance.now(), deadlineMillis * (1 - waitingShare))
    using _ = new Deadline(left, () => {
      late.reject(new DatabaseFailure(connection.whenBroken, 'ETIMEDOUT'))
      connection.close()
    })
    const run = async () => {
      connection.mayHaveCommitted = false
      await connection.allowStatements(statementLimit(deadlineMillis))
      const done = await work(place.on)
      if (connection.isOpen && !connection.hasEnded) throw new Error('the work left its transaction open')
      return done
    }
    try {
      return await Promise.race([run(), late.promise])
    } catch (error) {
      const failure = unwrapped(error)
      const isUseless =
        failure instanceof DatabaseFailure && (isBroken(failure) || failure.meaning === 'readOnly')
      if (isUseless && place.generation === this.generation) this.replaceAll()
      throw failure
    } finally {
      this.giveBack(place)
    }
  }

  /** Rejects new calls, waits for the running ones and closes all connections. */
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
      // A connection that becomes free later goes to the next call.
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

  /** Returns the connection that was used last. All other connections have been idle for longer. */
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
      const connection = await this.connect()
      return { connection, on: this.options.make(connection), generation, freeSince: 0 }
    } catch (error) {
      this.failure = { error, until: performance.now() + pauseMillis }
      throw error
    }
  }

  /** Tries the last primary, then the other hosts. @throws DatabaseFailure the most severe failure of all hosts */
  private async connect(): Promise<Connection> {
    const { address, password } = this.options
    const { hosts } = address
    const from = this.primary
    let worst: DatabaseFailure | undefined
    for (const index of hosts.keys()) {
      const at = (from + index) % hosts.length
      const host = hosts[at] as DatabaseHost
      const statementMillis = statementLimit(this.deadlineMillis)
      const onEnd = (ended: Connection) => this.drop(ended)
      try {
        const opening = { address, host, password: password(host), statementMillis, onEnd }
        const connection = await Connection.open(opening)
        this.primary = at
        return connection
      } catch (error) {
        if (!(error instanceof DatabaseFailure)) throw error
        if (!worst || severity.indexOf(error.meaning) > severity.indexOf(worst.meaning)) worst = error
      }
    }
    throw worst
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

  private endTurn(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.used -= 1
    if (this.isClosed && this.used === 0) this.idle.resolve()
  }

  private drop(connection: Connection): void {
    const at = this.free.findIndex((place) => place.connection === connection)
    if (at >= 0) this.free.splice(at, 1)
  }

  /** Closes free connections now, and used connections after their calls. */
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
