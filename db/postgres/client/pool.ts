import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import type { Connection } from './connection'
import { DatabaseFailure, isBroken, unwrapped } from './failure'
import { Hosts } from './hosts'
import { patience } from './patience'
import { SilenceWatch } from './silence'

/** How a pool is to be made. */
export interface PoolOptions<On> {
  readonly address: DatabaseAddress
  /** The password for a host; null for none. */
  readonly password: (host: DatabaseHost) => string | null
  /** How many connections there are at most. */
  readonly size: number
  /** Makes what is kept with a connection, once for each. */
  readonly make: (connection: Connection) => On
  /** How long the server may answer nothing to a work, unless that says otherwise; and to nobody while one waits for a connection. */
  readonly deadlineMillis?: number
}

interface Place<On> {
  readonly connection: Connection
  readonly on: On
  readonly generation: number
  /** On performance's clock, in ms. */
  freeSince: number
}

interface Waiter<On> {
  readonly take: (place: Place<On>) => void
  readonly fail: (failure: unknown) => void
}

/** How long nobody tries again to connect after no host let us in. */
const pauseMillis = 100
/** What is idle for longer is not relied on: load balancers and firewalls forget it after minutes, without a word. */
const idleMillis = 60_000

/** Connections to the one server that can be written, for one work each at a time. */
export class Pool<On> {
  private readonly free: Place<On>[] = []
  private readonly waiting: Waiter<On>[] = []
  private used = 0
  private opening = 0
  /** Connections of former ones are used no more: of a server that was lost. */
  private generation = 0
  private isClosed = false
  private readonly idle = Promise.withResolvers<void>()
  private lastFailure: unknown = null

  private readonly hosts: Hosts

  constructor(private readonly options: PoolOptions<On>) {
    this.hosts = new Hosts(options.address, options.password)
  }

  /** When a connection was last given back that can be used again. */
  private servedAt = -Infinity

  /** How many connections there are, and how many works wait for one. */
  get counts(): { readonly free: number; readonly used: number; readonly waiting: number } {
    return { free: this.free.length, used: this.used, waiting: this.waiting.length }
  }

  /**
   * Does a work on a connection of its own. Where it leaves a transaction open, that is rolled back.
   *
   * @param silentMillis how long the server may answer nothing, as SilenceWatch has it; then its connection is closed
   * @param waitMillis how long a connection is waited for while the server answers nobody: hosts that do not answer each take
   *   the pool's deadline
   * @throws DatabaseFailure, or what the work throws
   */
  async use<T>(
    work: (on: On) => Promise<T>,
    silentMillis = this.deadlineMillis,
    waitMillis = this.deadlineMillis,
  ): Promise<T> {
    const place = await this.take(waitMillis)
    const { connection } = place
    connection.mayHaveCommitted = false
    try {
      using watch = new SilenceWatch(connection, silentMillis)
      const done = await Promise.race([work(place.on), watch.silence])
      // What was open on a connection that has ended is rolled back: whoever found that it is of no use says so too.
      if (connection.isOpen && !connection.hasEnded) throw new Error('a work has left its transaction open')
      return done
    } catch (error) {
      const failure = unwrapped(error)
      const isOfNoUse =
        failure instanceof DatabaseFailure && (isBroken(failure) || failure.meaning === 'readOnly')
      // Those of the server that was lost end one after another: the first has renewed all.
      if (isOfNoUse && place.generation === this.generation) this.renew()
      throw failure
    } finally {
      this.giveBack(place)
    }
  }

  /** Lets no work begin any more, waits for those that are under way, and closes all connections. */
  close(): Promise<void> {
    this.isClosed = true
    this.failAll(new DatabaseFailure('busy'))
    this.renew()
    this.settle()
    return this.idle.promise
  }

  private get deadlineMillis(): number {
    return this.options.deadlineMillis ?? patience.answer
  }

  private take(waitMillis: number): Promise<Place<On>> {
    if (this.isClosed) return Promise.reject(new DatabaseFailure('busy'))
    const place = this.popFree()
    if (place) {
      this.used += 1
      return Promise.resolve(place)
    }
    if (this.lastFailure && this.used + this.opening === 0) return Promise.reject(this.lastFailure)
    return this.wait(waitMillis)
  }

  /** The connection that was used last: others can fall asleep, and be forgotten by whatever is on the way. */
  private popFree(): Place<On> | undefined {
    const place = this.free.pop()
    if (place && performance.now() - place.freeSince < idleMillis) return place
    place?.connection.close()
    this.closeFree()
    return undefined
  }

  private wait(waitMillis: number): Promise<Place<On>> {
    return new Promise((resolve, reject) => {
      const beganAt = performance.now()
      const look = (left: number): void => {
        timer = setTimeout(() => {
          // Whoever waits behind others that are served is only slow.
          const rest = waitMillis - (performance.now() - Math.max(beganAt, this.servedAt))
          if (rest > 0) return look(rest)
          this.waiting.splice(this.waiting.indexOf(waiter), 1)
          reject(new DatabaseFailure('busy'))
        }, left)
      }
      let timer: ReturnType<typeof setTimeout>
      look(waitMillis)
      const waiter: Waiter<On> = {
        take: (place) => {
          clearTimeout(timer)
          resolve(place)
        },
        fail: (failure) => {
          clearTimeout(timer)
          reject(failure)
        },
      }
      this.waiting.push(waiter)
      this.grow()
    })
  }

  /** Opens as many more connections as are waited for. */
  private grow(): void {
    const all = () => this.free.length + this.used + this.opening
    while (!this.lastFailure && this.opening < this.waiting.length && all() < this.options.size) {
      this.opening += 1
      this.openOne().then(
        (place) => {
          this.opening -= 1
          this.used += 1
          this.pass(place)
        },
        (failure: unknown) => {
          this.opening -= 1
          this.failToOpen(failure)
        },
      )
    }
  }

  private async openOne(): Promise<Place<On>> {
    const { generation } = this
    const connection = await this.hosts.open(this.deadlineMillis, (ended) => this.drop(ended))
    try {
      return { connection, on: this.options.make(connection), generation, freeSince: 0 }
    } catch (error) {
      connection.close()
      throw error
    }
  }

  private failToOpen(failure: unknown): void {
    this.lastFailure = failure
    setTimeout(() => {
      this.lastFailure = null
      this.grow()
    }, pauseMillis).unref()
    // Where others have connections, one of them becomes free.
    if (this.used + this.opening === 0) this.failAll(failure)
    this.settle()
  }

  private failAll(failure: unknown): void {
    for (const waiter of this.waiting.splice(0)) waiter.fail(failure)
  }

  private giveBack(place: Place<On>): void {
    const { connection, generation } = place
    if (connection.isOpen && !connection.hasEnded && generation === this.generation) {
      const timer = setTimeout(() => connection.close(), this.deadlineMillis)
      connection
        .send('ROLLBACK')
        .catch(() => connection.close())
        .finally(() => clearTimeout(timer))
        .then(() => this.pass(place))
    } else this.pass(place)
  }

  /** Gives a connection that was used to whoever waits longest. */
  private pass(place: Place<On>): void {
    const { connection, generation } = place
    const isGood = !connection.hasEnded && generation === this.generation && !this.isClosed
    if (isGood) this.servedAt = performance.now()
    const waiter = isGood ? this.waiting.shift() : undefined
    if (waiter) {
      waiter.take(place)
      return
    }
    this.used -= 1
    place.freeSince = performance.now()
    if (isGood) this.free.push(place)
    else connection.close()
    this.grow()
    this.settle()
  }

  private settle(): void {
    if (this.isClosed && this.used + this.opening === 0) this.idle.resolve()
  }

  /** Forgets a connection that has ended while nobody used it. */
  private drop(connection: Connection): void {
    const at = this.free.findIndex((place) => place.connection === connection)
    if (at >= 0) this.free.splice(at, 1)
  }

  /** Uses none of the connections any more: those that are idle are closed, the others when their works are done. */
  private renew(): void {
    this.generation += 1
    this.closeFree()
  }

  private closeFree(): void {
    for (const { connection } of this.free.splice(0)) connection.close()
  }
}
