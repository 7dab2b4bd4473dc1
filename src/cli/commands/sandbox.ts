import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { limitsOf } from '../../config'
import { builtInDirectory, withGenerated } from '../../directory-files/sandbox'
import type { Act } from '../../domain/audit'
import { slotMillis } from '../../domain/booking-request'
import { unlimited } from '../../domain/limits'
import { clockStartingAt, systemClock } from '../../domain/ports/time'
import type { Context } from '../../operations/context'
import {
  deactivatedMember,
  fillSandbox,
  listSandboxPartners,
  loadDirectory,
} from '../../operations/directory-loads'
import { zoneDataNote } from '../../operations/maintenance'
import { findExampleSlot } from '../../operations/offer-slots'
import { dayMinutes, formatInstant, minuteMillis } from '../../scheduling/calendar'
import { databaseAt, openService, type Service } from '../../service'
import { settings, type Values, valuesOf } from '../../settings'
import { cap, databaseFile, startingInstant, webAddress, wholeNumber } from '../arguments'
import { json, plainCommand } from '../command'
import { readJsonFile } from '../directory-files'
import { isOnTerminal, openTerminalLog } from '../terminal/log'
import { printJson, printLines, printNotice } from '../terminal/output'
import { shutdownRequest } from './serve'

interface Options extends Partial<Record<LimitName, number | null>> {
  readonly port: number
  readonly host: string
  readonly baseUrl?: string
  readonly database?: string
  readonly now?: number
  readonly directory?: string
  readonly providers: number
  readonly zones?: string
  readonly json?: boolean
}

const limitNames = [
  'readsPerMinute',
  'bookingsPerMinute',
  'intakesPerHour',
  'failedAuthenticationsPerMinute',
  'openRequests',
  'openIntakes',
  'emailConflictsPerHour',
] as const

type LimitName = (typeof limitNames)[number]

const limitOptions = limitNames.map((name) => {
  const { flag, meaning } = settings[name]
  return new Option(
    `${flag} <n>`,
    meaning.replace(/, or off \(default: \d+\)$/, ' (default: off)'),
  ).argParser(cap)
})

export function sandboxCommand(): Command {
  return plainCommand({
    name: 'sandbox',
    options: [
      ['--port <n>', 'the port to listen on, 0 for a free one', wholeNumber(0, 65_535), 8080],
      ['--host <host>', 'the address to listen on', '127.0.0.1'],
      ['--base-url <url>', 'the public address, used in links', webAddress],
      [
        '--database <file>',
        'the file to keep the data in, next to its key file (default: temporary)',
        databaseFile,
      ],
      [
        '--now <instant>',
        "the UTC instant at which the service's clock starts (default: now)",
        startingInstant,
      ],
      ['--directory <file>', 'the directory file to load (default: built-in)'],
      ['--providers <n>', 'the number of providers to generate in addition', wholeNumber(0, 1_000_000), 0],
      ['--zones <folder>', 'a zoneinfo folder to use instead of the built-in time zones'],
      ...limitOptions,
      json('print one line of JSON when the server is ready'),
    ],
    examples: [
      'anteroom sandbox',
      'anteroom sandbox --port 0 --now 2026-12-01T09:00:00Z --json',
      'anteroom sandbox --database sandbox.sqlite --providers 10000',
    ],
    run: runSandbox,
  })
}

async function runSandbox(options: Options): Promise<undefined> {
  // Reads the file before signals are handled, so that Ctrl-C still ends a read that blocks.
  const given = options.directory === undefined ? null : readJsonFile(options.directory)
  // Handles signals before the folder is created, so that a signal cannot leave the folder behind.
  const stopped = shutdownRequest()
  const folder = options.database === undefined ? mkdtempSync(join(tmpdir(), 'anteroom-')) : undefined
  const log = isOnTerminal() ? openTerminalLog(systemClock) : null
  const database = resolve(options.database ?? join(folder as string, 'sandbox.sqlite'))
  const key = `${database}.key`
  let service: Service | undefined
  try {
    const place = await databaseAt({ database })
    const isNew = (await place.find()) === null
    if (isNew) {
      const fillOne = (made: string, madeKey: string) => fill(made, madeKey, options, given)
      await place.make({ keyFile: key, mustBeNew: false, fill: fillOne })
    }
    service = await open(database, key, options, false)
    if (!isNew && (options.directory !== undefined || options.providers > 0)) {
      await loadDirectory(
        service.context,
        documentFor(service.context, options, given),
        actOf(service.context),
      )
    }
    const note = zoneDataNote(service.zones, service.context.clock.now())
    if (note) printNotice(note)
    const { host, port, baseUrl } = options
    const server = await service.listen({ host, port, baseUrl, observers: log ? [log.observe] : [] })
    const report = await describeSandbox(service.context, server.baseUrl, database)
    if (options.json) printJson(report, 0)
    else printLines(...card(report))
    await stopped
    await server.stop()
  } finally {
    await service?.close()
    await log?.end()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

function actOf({ clock }: Context): Act {
  return { actor: 'sandbox', at: clock.now() }
}

function open(database: string, key: string, options: Options, create: boolean): Promise<Service> {
  return openService({
    purpose: 'sandbox',
    database,
    masterKey: { file: key },
    create,
    upgrade: true,
    zoneFolder: options.zones,
    clock: options.now === undefined ? systemClock : clockStartingAt(options.now),
    // The partners' limits must not apply while the data is generated.
    limits: create ? unlimited : limitsOf({ ...noLimits, ...options }),
    report: printNotice,
  })
}

const noLimits: Values = {
  ...valuesOf({}),
  ...(Object.fromEntries(limitNames.map((name) => [name, null])) as Record<LimitName, null>),
}

async function fill(database: string, key: string, options: Options, given: unknown): Promise<void> {
  const { context, close } = await open(database, key, options, true)
  try {
    const act = actOf(context)
    await loadDirectory(context, documentFor(context, options, given), act)
    await fillSandbox(context, options.directory === undefined, act)
  } finally {
    await close()
  }
}

/** Returns the directory document that the options select, without validation. */
function documentFor({ clock }: Context, { directory, providers }: Options, given: unknown): unknown {
  const today = Math.floor(clock.now() / (dayMinutes * minuteMillis))
  const document = directory === undefined ? builtInDirectory(today) : given
  return providers > 0 ? withGenerated(document, providers) : document
}

async function describeSandbox(context: Context, baseUrl: string, database: string) {
  const now = context.clock.now()
  const free = findExampleSlot(context, now)
  return {
    baseUrl,
    docsUrl: `${baseUrl}/docs`,
    openapiUrl: `${baseUrl}/openapi.json`,
    database,
    now: formatInstant(now),
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

type Report = Awaited<ReturnType<typeof describeSandbox>>

function card({ baseUrl, docsUrl, database, now, partners, examples }: Report): string[] {
  const widest = Math.max(...partners.map(({ state }) => state.length))
  const lines = partners.flatMap(({ name, state, organization, token }) => [
    `  ${state.padEnd(widest)}  ${name}${organization ? ` (${organization})` : ''}`,
    `    ${token}`,
  ])
  return [
    `Anteroom sandbox at ${baseUrl}`,
    `  API docs   ${docsUrl}`,
    `  database   ${database}`,
    `  clock      ${now}`,
    '',
    'Partners and their tokens:',
    ...lines,
    `  deactivated member of the first partner: ${examples.deactivatedMember}`,
    '',
    ...firstSteps(baseUrl, partners[0]?.token ?? '', examples),
    'Press Ctrl-C to stop it.',
  ]
}

/** Returns a search and a booking as commands to paste into a shell. Empty if no slot is free. */
function firstSteps(baseUrl: string, token: string, examples: Report['examples']): string[] {
  const { regionId, providerId, utcStartTime, utcEndTime } = examples
  if (regionId === null) return []
  const booking = {
    user: { external_user_id: 'member-1001' },
    bookingData: { selfSchedulingProviderId: providerId, utcStartTime, utcEndTime },
    memberData: { email: 'robin@example.com', firstName: 'Robin', lastName: 'Sample', country: 'CA' },
    phq9Data: [{ question: 'Little interest or pleasure in doing things?', answer: 'Several days' }],
  }
  return [
    'A first search:',
    `curl -s -H 'Authorization: Bearer ${token}' '${baseUrl}/partners/v1/providers/?region_id=${regionId}&page_size=1'`,
    '',
    'A first booking:',
    `curl -s -X POST -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(booking)}' \\`,
    `  '${baseUrl}/partners/v1/booking-request/'`,
    '',
  ]
}
