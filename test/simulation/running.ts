import { copyFileSync, existsSync } from 'node:fs'
import { type Limits, unlimited } from '../../src/domain/limits'
import { createApp } from '../../src/http/app'
import { addOrganization, addPartner } from '../../src/operations/partners'
import { issueFirstToken } from '../../src/operations/tokens'
import { openService } from '../../src/service'
import { Folder } from '../support/folder'
import type { Answer } from '../support/service'
import { organizationCount, organizationOf } from './moves'

export const baseUrl = 'http://localhost'

/** The instant (ms) at which the template database is made. Every world starts later. */
export const madeAt = Date.UTC(2026, 0, 1)

export interface WholeAnswer extends Answer {
  readonly text: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** A service in the process of the test. It stands for a separate process. */
export interface Running {
  readonly service: Awaited<ReturnType<typeof openService>>
  /** Sends a request to the app without a network connection. */
  ask(path: string, init?: RequestInit): Promise<WholeAnswer>
}

/** A database and the processes that have it open. */
export class Site implements AsyncDisposable {
  readonly #folder = new Folder()
  #path = this.#folder.file('first.sqlite')
  #copies = 0
  /** The processes that have the database open. The first is the server that crashes. */
  readonly running: Running[] = []
  /** Crashed processes. They get no more requests. */
  readonly #dropped: Running[] = []

  private constructor(
    private readonly clock: { now(): number },
    private readonly limits: Partial<Limits>,
  ) {}

  static async open(clock: { now(): number }, limits: Partial<Limits>): Promise<Site> {
    const site = new Site(clock, limits)
    copyDatabase((await template()).database, site.#path)
    await site.start()
    return site
  }

  get path(): string {
    return this.#path
  }

  async start(): Promise<void> {
    this.running.push(await openOn(this.#path, this.clock, this.limits))
  }

  get keyFile(): string {
    return keyFile
  }

  via(place: number): Running {
    return this.running[place % this.running.length] as Running
  }

  /** Copies the files without stopping the processes. Returns the path of the copy. */
  copy(): string {
    const copy = this.#folder.file(`copy-${this.#copies++}.sqlite`)
    copyDatabase(this.#path, copy)
    return copy
  }

  /** Abandons all processes without a shutdown, like a crash. Then opens `copy`, or the same files if `copy` is null. */
  async crash(copy: string | null): Promise<void> {
    const gone = this.running.splice(0)
    if (copy === null) this.#dropped.push(...gone)
    else {
      for (const { service } of gone) await service.close()
      this.#path = copy
    }
    await this.start()
  }

  async restart(): Promise<void> {
    for (const { service } of this.running.splice(0)) {
      await service.context.notebook.flush(service.context.store)
      await service.close()
    }
    await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { service } of [...this.running, ...this.#dropped]) await service.close()
    this.#folder[Symbol.dispose]()
  }
}

/** Copies the database and its write-ahead log, without the shared-memory index. */
function copyDatabase(from: string, to: string): void {
  copyFileSync(from, to)
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`)
}

interface Template {
  readonly folder: Folder
  readonly database: string
  readonly organizations: readonly number[]
  readonly partners: readonly { readonly id: number; readonly token: string }[]
}

let made: Promise<Template> | undefined

/** Makes the template database at the first call. Each world starts with a copy of the template. */
export function template(): Promise<Template> {
  made ??= makeTemplate()
  return made
}

/** Removes the template after the tests, because `bun test` runs no exit handler. */
export async function dropTemplate(): Promise<void> {
  if (made) (await made).folder[Symbol.dispose]()
  made = undefined
}

async function makeTemplate(): Promise<Template> {
  const folder = new Folder()
  const database = folder.file('template.sqlite')
  keyFile = `${database}.key`
  const { service } = await openOn(database, { now: () => madeAt }, {}, true)
  const { context } = service
  const act = { actor: 'setup', at: madeAt }
  const organizations = []
  for (let place = 0; place < organizationCount; place++) {
    organizations.push(await addOrganization(context, `Organization ${place}`, act))
  }
  const partners = []
  for (const [place, organization] of organizationOf.entries()) {
    const of = organization === null ? null : (organizations[organization] ?? null)
    const partner = await addPartner(context, `Partner ${place}`, of, act)
    partners.push({ id: partner.id, token: await issueFirstToken(context, partner, act) })
  }
  await service.close()
  return { folder, database, organizations: organizations.map(({ id }) => id), partners }
}

let keyFile = ''

async function openOn(
  database: string,
  clock: { now(): number },
  limits: Partial<Limits>,
  create = false,
): Promise<Running> {
  const service = await openService({
    purpose: 'production',
    database,
    masterKey: { file: keyFile },
    create,
    clock,
    limits: { ...unlimited, ...limits },
    report: () => {},
  })
  const serving = { context: service.context, baseUrl, isSandbox: false, noDocs: true }
  const app = createApp(serving, () => '127.0.0.1')
  return {
    service,
    async ask(path, init = {}) {
      return wholeAnswer(await app.fetch(new Request(`${baseUrl}${path}`, init)))
    },
  }
}

export async function wholeAnswer(response: Response): Promise<WholeAnswer> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isPlain = !response.headers.has('content-encoding')
  const text = isPlain ? new TextDecoder().decode(bytes) : ''
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text ? JSON.parse(text) : text,
    text,
    bytes,
  }
}
