import { booking } from '../support/builders'
import { Operator, type Served } from '../support/operator'
import { theProgram } from '../support/process'
import { directoryOf, regionRef } from './directory'
import type { StartWords } from './start'

/** A rate so high that no caller reaches it. */
const endless = '100000000'
const limits = [
  '--reads-per-minute',
  '--bookings-per-minute',
  '--failed-authentications-per-minute',
  '--email-conflicts-per-hour',
].flatMap((flag) => [flag, endless])

/** Busy services use this setting, because a log line for each request costs 5 µs. */
const logged = ['--log-requests', 'errors']

/** Logs to a file, because a process that reads the log would use the same CPU. */
const loggingToFile = ['sh', '-c', 'exec "$@" 2>> serve.log', 'sh', ...theProgram]

/** Runs `serve` of the built executable on a production database. Disposing it ends the process. */
export class Serving implements AsyncDisposable {
  private constructor(
    readonly operator: Operator,
    private served: Served,
    readonly token: string,
    /** The region in which all providers are licensed. */
    readonly regionId: number,
  ) {}

  /**
   * @param providers 0 for an empty directory
   * @param address the URL of an empty PostgreSQL database; a file by default
   */
  static async start(providers: number, address?: string): Promise<Serving> {
    const operator = new Operator(theProgram, address)
    try {
      return await Serving.#startBy(operator, providers)
    } catch (error) {
      operator[Symbol.dispose]()
      throw error
    }
  }

  static async #startBy(operator: Operator, providers: number): Promise<Serving> {
    await operator.do('init')
    if (providers > 0) {
      const file = operator.folder.file('directory.json')
      await Bun.write(file, JSON.stringify(directoryOf(providers)))
      await operator.do('directory', 'load', file, '--yes')
    }
    const token = await operator.onboard('Bench', 'Bench Care')
    const served = await operator.serveBy(loggingToFile, ...limits, ...logged)
    const { body } = await served.get('/partners/v1/provider-regions/?country_code=CA', token)
    const regions: { id: number; countryCode: string; stateProvinceCode: string }[] = body
    const region = regions.find((one) => `${one.countryCode}-${one.stateProvinceCode}` === regionRef)
    return new Serving(operator, served, token, region?.id ?? 0)
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.served.port}`
  }

  get pid(): number {
    return this.served.pid
  }

  get startWords(): StartWords {
    const { operator } = this
    return {
      words: [...theProgram, 'serve', '--port', '0', '--base-url', 'https://api.example', ...limits],
      folder: operator.folder.path,
      settings: operator.settings,
    }
  }

  /** Stops the service, so that other processes can open its database until `resume` is called. */
  async pause(): Promise<void> {
    await this.served.stop()
  }

  async resume(): Promise<void> {
    this.served = await this.operator.serve(...limits)
  }

  /** Adds another partner and returns its token. */
  onboard(name: string): Promise<string> {
    return this.operator.onboard(name, `${name} Care`)
  }

  async addMember(externalUserId: string): Promise<void> {
    const { status } = await this.served.post(booking(externalUserId), this.token)
    if (status !== 201) throw new Error(`the intake was answered ${status}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]()
    this.operator[Symbol.dispose]()
  }
}
