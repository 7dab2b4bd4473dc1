import { constants } from 'node:os'
import { type Command, Option } from 'commander'
import { Refusal } from '../../domain/errors'
import { systemClock } from '../../domain/ports/time'
import { limitNames } from '../../sandbox/filling'
import { type Card, type SandboxOptions, startSandbox } from '../../sandbox/sandbox'
import { settings } from '../../settings'
import { cap, databaseFile, startingInstant, webAddress, wholeNumber } from '../arguments'
import { json, plainCommand } from '../command'
import { readJsonFile } from '../directory-files'
import { isOnTerminal, openTerminalLog } from '../terminal/log'
import { printJson, printLines, printNotice } from '../terminal/output'
import { endingSignals, shutdownRequest } from './serve'

interface Options extends Omit<SandboxOptions, 'port' | 'document'> {
  readonly port?: number
  readonly directory?: string
  readonly untilStdinCloses?: boolean
  readonly json?: boolean
}

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
    words: [['[command...]', 'after --: a command to run with the sandbox, which then stops']],
    options: [
      [
        '--port <n>',
        'the port to listen on, 0 for a free one (default: 8080, or a free one with a command)',
        wholeNumber(0, 65_535),
      ],
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
      ['--frozen', 'start with a stopped clock'],
      ['--seed <text>', 'create the same tokens and numbers at each start'],
      ['--resettable', 'let POST /sandbox/v1/reset restore a kept --database'],
      [
        '--until-stdin-closes',
        'stop when stdin closes, for example because the program that started it has ended',
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
      'anteroom sandbox --seed ci --now 2026-12-01T09:00:00Z --frozen -- npm test',
    ],
    run: runSandbox,
  })
}

async function runSandbox(words: readonly string[], options: Options): Promise<undefined> {
  const { directory, port = words.length > 0 ? 0 : 8080 } = options
  if (words.length > 0 && !process.argv.includes('--'))
    throw new Refusal('field_invalid', 'a command for the sandbox comes after --')
  // Reads the file before signals are handled, so that Ctrl-C still ends a read that blocks.
  const document = directory === undefined ? undefined : readJsonFile(directory)
  // Handles signals before the folder is created, so that a signal cannot leave the folder behind.
  const closed = options.untilStdinCloses ? stdinCloses() : new Promise<void>(() => {})
  const stopped = Promise.race([shutdownRequest(), closed])
  const log = isOnTerminal() && words.length === 0 ? openTerminalLog(systemClock) : null
  if (options.seed !== undefined) printNotice('the tokens come from --seed, so they are not secret')
  try {
    const observers = log ? [log.observe] : []
    const sandbox = await startSandbox({ ...options, port, document, observers, report: printNotice })
    try {
      if (words.length > 0) await runWith(sandbox.card, words, { stopped, closed }, options)
      else {
        if (options.json) printJson(sandbox.card, 0)
        else printLines(...cardText(sandbox.card))
        await stopped
      }
    } finally {
      await sandbox.stop()
    }
  } finally {
    await log?.end()
    if (options.untilStdinCloses) process.stdin.pause()
  }
}

function stdinCloses(): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => resolve())
    process.stdin.resume()
  })
}

async function runWith(
  { baseUrl, controlToken, partners }: Card,
  words: readonly string[],
  { stopped, closed }: Record<'stopped' | 'closed', Promise<void>>,
  { untilStdinCloses }: Options,
): Promise<void> {
  const { commandEnvironment } = await import('../../production')
  const token = partners.find(({ state }) => state === 'active')?.token
  const given = { ANTEROOM_BASE_URL: baseUrl, ANTEROOM_TOKEN: token, ANTEROOM_CONTROL_TOKEN: controlToken }
  const env = commandEnvironment(given)
  const [stdin, others] = [untilStdinCloses ? 'ignore' : 'inherit', 'inherit'] as const
  try {
    const ended = (await Promise.race([stopped.then(() => true), Bun.sleep(0)])) ? stopped : closed
    const child = Bun.spawn([...words], { env, stdio: [stdin, others, others] })
    ended.then(() => child.kill())
    // Ctrl-C reaches the command without help, so that it can clean up.
    for (const signal of endingSignals()) process.on(signal, () => signal !== 'SIGINT' && child.kill(signal))
    await child.exited
    process.exitCode = child.exitCode ?? 128 + constants.signals[child.signalCode as NodeJS.Signals]
  } catch {
    throw new Refusal('field_invalid', 'the command after -- cannot be run')
  }
}

function cardText(report: Card): string[] {
  const { baseUrl, docsUrl, database, now, frozen, controlToken, partners, examples } = report
  const widest = Math.max(...partners.map(({ state }) => state.length))
  const lines = partners.flatMap(({ name, state, organization, token }) => [
    `  ${state.padEnd(widest)}  ${name}${organization ? ` (${organization})` : ''}`,
    `    ${token}`,
  ])
  return [
    `Anteroom sandbox at ${baseUrl}`,
    `  API docs   ${docsUrl}`,
    `  database   ${database}`,
    `  clock      ${now}${frozen ? ', frozen' : ''}`,
    `  control    ${controlToken}`,
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
function firstSteps(baseUrl: string, token: string, examples: Card['examples']): string[] {
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
