import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { slotMillis } from '../domain/booking-request'
import { Refusal } from '../domain/errors'
import { secureRandom } from '../domain/ports/random'
import { clockStartingAt, systemClock } from '../domain/ports/time'
import { beginFile, sync, type UnfinishedFile } from '../files/durable'
import { controlledApp } from '../http/control/control'
import type { RequestObserver } from '../http/log'
import { deactivatedMember, listSandboxPartners } from '../operations/directory-loads'
import { zoneDataNote } from '../operations/maintenance'
import { findExampleSlot } from '../operations/offer-slots'
import { formatInstant } from '../scheduling/calendar'
import { databaseAt } from '../service'
import { type Filling, fill, loadGiven, openSandbox } from './filling'
import { digestOf, seededRandom } from './seed'

export interface SandboxOptions extends Omit<Filling, 'clock' | 'random'> {
  readonly host: string
  readonly port: number
  readonly baseUrl?: string | undefined
  readonly database?: string | undefined
  readonly now?: number | undefined
  readonly frozen?: boolean
  readonly seed?: string | undefined
  readonly observers: readonly RequestObserver[]
}

export type Card = Awaited<ReturnType<typeof startSandbox>>['card']

export async function startSandbox(options: SandboxOptions) {
  const { now: startsAt = systemClock.now(), frozen = false, seed, host, port, baseUrl, observers } = options
  const isResettable = options.database === undefined || options.resettable === true
  const folder = isResettable ? temporaryFolder() : ''
  const pristine = join(folder, 'pristine.sqlite')
  const database = resolve(options.database ?? join(folder, 'sandbox.sqlite'))
  const key = `${database}.key`
  const clock = clockStartingAt(startsAt, frozen)
  const seeded = seed === undefined ? null : seededRandom(seed)
  const random = seeded?.draw
  const filling = { ...options, clock, random }
  const open = () => openSandbox(database, key, filling)

  const place = await databaseAt({ database })
  const isNew = (await place.find()) === null
  if (isNew) {
    const fillOne = (made: string, madeKey: string) => fill(made, madeKey, filling)
    await place.make({ keyFile: key, mustBeNew: false, fill: fillOne })
  } else {
    const { context, close } = await open()
    const isGiven = options.document !== undefined || options.providers > 0
    await (isGiven ? loadGiven(context, filling) : Promise.resolve()).finally(close)
  }
  if (isResettable) copyFileSync(database, pristine)

  // Continues a kept database with other numbers, because its first ones are taken.
  const sequence = isNew || !seeded ? 'calls' : digestOf(readFileSync(database))
  let [service, resets] = [await open(), 0]
  const begin = () => seeded?.start(sequence)
  seeded?.start('control')
  const controlToken = Buffer.from((random ?? secureRandom)(32)).toString('base64url')
  begin()
  async function describe() {
    const [{ context }, { baseUrl }, now] = [service, server, clock.now()]
    const free = findExampleSlot(context, now)
    return {
      ...{ baseUrl, docsUrl: `${baseUrl}/docs`, openapiUrl: `${baseUrl}/openapi.json` },
      ...{ controlUrl: `${baseUrl}/sandbox/v1/`, controlToken, database },
      ...{ now: formatInstant(now), frozen: clock.isFrozen, outcomes: [] },
      partners: await listSandboxPartners(context, now),
      examples: {
        deactivatedMember,
        countryCode: free?.region.countryCode ?? null,
        regionId: free?.region.id ?? null,
        providerId: free?.providerId ?? null,
        utcStartTime: free && formatInstant(free.startsAt),
        utcEndTime: free && formatInstant(free.startsAt + slotMillis),
      },
    }
  }
  const stopping = Promise.withResolvers<void>()
  const sandbox = {
    token: controlToken,
    clock,
    service: () => service,
    isResettable,
    stopping: stopping.promise,
    describe,
    runTasks: () => server.runTasks(),
    copyStart: () => copyNextTo(database, pristine),
    async reset(now: number | null, start: Pick<UnfinishedFile, 'publish'>) {
      await server.replaceService(async () => {
        await service.close()
        // SQLite closes its files and frees its cache only when their statements are collected.
        if (++resets % 10 === 0) Bun.gc(true)
        for (const log of ['-wal', '-shm']) rmSync(database + log, { force: true })
        start.publish()
        clock.set(now ?? startsAt, frozen)
        begin()
        service = await open()
        return service.served
      })
    },
  }
  const note = zoneDataNote(service.zones, clock.now())
  if (note) options.report(note)
  const createApp = controlledApp(sandbox)
  const listening = service.listen({ host, port, baseUrl, observers, createApp })
  const server = await listening.catch(async (error) => {
    await service.close()
    throw error
  })
  return {
    card: await describe(),
    async stop() {
      stopping.resolve()
      await server.stop()
      await service.close()
    },
  }
}

/** Removed when the process exits, even if its output can no longer be written. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'anteroom-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Replaces the file and does not overwrite it: SQLite may not have closed it yet, and then keeps the old one. */
function copyNextTo(database: string, pristine: string): UnfinishedFile {
  let file: UnfinishedFile | undefined
  try {
    file = beginFile(database, { replace: true })
    copyFileSync(pristine, file.path)
    sync(file.path)
    return file
  } catch (cause) {
    file?.[Symbol.dispose]()
    throw new Refusal('storage_failed', 'the starting state cannot be copied', { cause })
  }
}
