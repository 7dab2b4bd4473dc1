import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import { Connection } from './connection'
import { DatabaseFailure, type Meaning } from './failure'

/** The hosts of an address, of which one at a time can be written: the primary. */
export class Hosts {
  /** Where the last connection was made. */
  private preferred = 0

  constructor(
    private readonly address: DatabaseAddress,
    private readonly password: (host: DatabaseHost) => string | null,
  ) {}

  /**
   * Connects to the first host, from the last good one on, that can be written.
   *
   * @param deadlineMillis how long each of them is waited for
   * @param onEnd called once, when the connection has ended
   * @throws DatabaseFailure of the host that says most of what is to be mended, where there is none
   */
  async open(deadlineMillis: number, onEnd: (connection: Connection) => void): Promise<Connection> {
    const { address } = this
    const from = this.preferred
    let worst: DatabaseFailure | undefined
    for (const index of address.hosts.keys()) {
      const at = (from + index) % address.hosts.length
      const host = address.hosts[at] as DatabaseHost
      try {
        const password = this.password(host)
        const connection = await Connection.open({ address, host, password, deadlineMillis, onEnd })
        this.preferred = at
        return connection
      } catch (error) {
        if (!(error instanceof DatabaseFailure)) throw error
        worst = worse(worst, error)
      }
    }
    throw worst
  }
}

/** From the one that says least of what an operator has to mend to the one that says most. */
const telling: readonly Meaning[] = ['readOnly', 'unreachable', 'full', 'denied']

function worse(one: DatabaseFailure | undefined, other: DatabaseFailure): DatabaseFailure {
  return one && telling.indexOf(one.meaning) >= telling.indexOf(other.meaning) ? one : other
}
