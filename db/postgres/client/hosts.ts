import type { DatabaseAddress, DatabaseHost } from '../../../src/domain/database-address'
import { Connection, type Opening } from './connection'
import { DatabaseFailure, type Meaning } from './failure'

/** The hosts of an address. One of them at a time can be written: the primary. */
export class Hosts {
  /** The host of the last connection. */
  private preferred = 0

  constructor(
    private readonly address: DatabaseAddress,
    private readonly password: (host: DatabaseHost) => string | null,
  ) {}

  /**
   * Connects to the first host, starting at the preferred one, that can be written.
   *
   * @throws DatabaseFailure of the host that needs an operator most, if there is none
   */
  async open(opening: Pick<Opening, 'statementMillis' | 'onEnd'>): Promise<Connection> {
    const { address } = this
    const from = this.preferred
    let worst: DatabaseFailure | undefined
    for (const index of address.hosts.keys()) {
      const at = (from + index) % address.hosts.length
      const host = address.hosts[at] as DatabaseHost
      try {
        const password = this.password(host)
        const connection = await Connection.open({ ...opening, address, host, password })
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

/** From the least to the most that an operator has to do. */
const severity: readonly Meaning[] = ['readOnly', 'unreachable', 'full', 'denied']

function worse(one: DatabaseFailure | undefined, other: DatabaseFailure): DatabaseFailure {
  return one && severity.indexOf(one.meaning) >= severity.indexOf(other.meaning) ? one : other
}
