import { expect, test } from 'bun:test'
import { systemClock } from '../../src/domain/ports/time'
import { openService } from '../../src/service'
import { CommandLine } from '../support/command-line'

const day = 86_400_000

/** Appends audit lines of token uses. */
async function noteUses(operator: CommandLine, uses: readonly (readonly [address: string, at: number])[]) {
  const database = operator.settings.ANTEROOM_DATABASE as string
  const masterKey = { file: `${database}.key` }
  const options = { purpose: 'production', database, masterKey, create: false } as const
  const { context, close } = await openService({ ...options, clock: systemClock, report: () => {} })
  const line = { actor: 'partner 1', action: 'token.use' as const, record: 'partner 1' }
  await context.store.appendAudit(
    uses.map(([address, at]) => ({ ...line, at, outcome: `${address}, kid k` })),
  )
  await close()
}

test('cli: partner set-networks asks if recent calls came from elsewhere, and partner show lists them', async () => {
  using operator = new CommandLine()
  await operator.do('init')
  await operator.onboard('Lantern', 'North Care')
  const [today, lastWeek] = [Date.now(), Date.now() - 7 * day]
  await noteUses(operator, [
    ['203.0.113.7', lastWeek],
    ['2001:db8:0:7::/64', today],
  ])
  const shown = await operator.ask<{ usedFrom: object[]; tokens: object[] }>('partner', 'show', 'Lantern')
  expect(shown).toMatchObject({ networks: null, tokens: [{ concerns: [] }] })
  expect(shown.usedFrom).toEqual([
    { address: '2001:db8:0:7::/64', lastAt: `${new Date(today).toISOString().slice(0, 19)}Z` },
    { address: '203.0.113.7', lastAt: `${new Date(lastWeek).toISOString().slice(0, 19)}Z` },
  ])
  const text = await operator.do('partner', 'show', 'Lantern')
  expect(text).toContain('networks       any address\n')
  expect(text).toContain(`203.0.113.7        ${new Date(lastWeek).toISOString().slice(0, 10)}\n`)
  const status = (await operator.run(['status'])).stdout
  expect(status).toContain('used from         Lantern: 2001:db8:0:7::/64, 203.0.113.7\n')

  const setNetworks = (...words: string[]) => operator.run(['partner', 'set-networks', 'Lantern', ...words])
  expect(await setNetworks('203.0.113.0/24')).toMatchObject({ code: 2, stdout: '' })
  expect(await operator.ask('partner', 'show', 'Lantern')).toMatchObject({ networks: null })
  const both = 'Partner Lantern: calls are accepted from 203.0.113.0/24, 2001:db8::/32.\n'
  expect((await setNetworks('203.0.113.0/24', '2001:db8::/32')).stdout).toBe(both)
  expect((await setNetworks('10.0.0.0/8', '--yes')).stdout).toBe(
    'Partner Lantern: calls are accepted from 10.0.0.0/8.\n',
  )
  expect((await setNetworks('any')).stdout).toBe('Partner Lantern: calls are accepted from any address.\n')
})

const hundred = Array.from({ length: 100 }, (_, nth) => `10.0.${nth}.0/24`)

test.each([
  [
    ['10.0.0.0/8', '10.0.0.1/8'],
    'entry 2 (10.0.0.1/8), which must be the first address of its network, without host bits',
  ],
  [
    ['192.0.2.7'],
    'entry 1 (192.0.2.7), which must look like 203.0.113.0/24, 203.0.113.7/32 or 2001:db8::/32',
  ],
  [['eyJhbGciOi.J9.x'], 'entry 1, which must look like 203.0.113.0/24, 203.0.113.7/32 or 2001:db8::/32'],
  [['any', '10.0.0.0/8'], 'entry 2 (10.0.0.0/8), which must not be next to the word any'],
  [['10.0.0.0/8', 'any'], 'entry 2, which must not be next to the word any'],
  [[...hundred, '10.1.0.0/16'], 'entry 101 (10.1.0.0/16), which is one too many; at most 100 are allowed'],
])('cli: partner set-networks %p is refused', async (words, fault) => {
  using operator = new CommandLine()
  await operator.do('init')
  const refused = await operator.run(['partner', 'set-networks', 'Lantern', ...words, '--yes'])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toBe(`error: argument 'networks' has a fault in ${fault}\n`)
})

test('cli: a partner may have 100 networks', async () => {
  using operator = new CommandLine()
  await operator.do('init')
  await operator.onboard('Lantern', 'North Care')
  expect(await operator.ask('partner', 'set-networks', 'Lantern', ...hundred)).toMatchObject({
    networks: hundred.join(),
  })
})

test('cli: audit affected lists members, and says how an address was resolved', async () => {
  using operator = new CommandLine()
  await operator.do('init')
  await operator.onboard('Lantern', 'North Care')
  const [today, since] = [Date.now(), new Date(Date.now() - day).toISOString().replace(/\.\d+/, '')]
  await noteUses(operator, [
    ['203.0.113.7', today],
    ['203.0.113.7', today],
    ['2001:db8:0:7::/64', today],
  ])
  const by = (...words: string[]) => operator.do('audit', 'affected', '--since', since, ...words)
  const date = new Date(today).toISOString().slice(0, 10)
  const limit =
    'Listed is all that the partner did on these days: the log does not say which calls came from there.'
  const none = 'No member.\n\n0 members.\n'
  expect(await by('--address', '203.0.113.7')).toBe(
    `${none}203.0.113.7 used token k of partner 1 on ${date}.\n${limit}\n`,
  )
  const network = `2001:db8:0:7::/64 used token k of partner 1 on ${date}.`
  for (const address of ['2001:db8:0:7::9', '2001:db8:0:7::/64']) {
    expect(await by('--address', address)).toBe(`${none}${network}\n${limit}\n`)
  }
  expect(await by('--address', '192.0.2.1')).toBe(`${none}192.0.2.1 used no token in this period.\n`)
  expect(await by('--partner', 'Lantern')).toBe(none)
  expect(await by('--operator', 'absent')).toBe(`${none}Actors of the lines: none.\n`)
  expect(JSON.parse(await by('--address', '203.0.113.7', '--json'))).toEqual({
    members: [],
    notes: [`203.0.113.7 used token k of partner 1 on ${date}.`, limit],
  })
  const lines = await operator.ask<object[]>('audit', 'list', '--action', 'audit.affected')
  expect(lines).toHaveLength(7)
  for (const [words, fault] of [
    [[], 'give one of --partner, --operator and --address'],
    [
      ['--address', '10.0.0.0/8'],
      "option '--address <address>' must be an IP address, for example 203.0.113.7",
    ],
    [
      ['--operator', 'olive', '--address', '10.0.0.1'],
      "option '--operator <name>' cannot be used with option '--address <address>'",
    ],
  ] as const) {
    const refused = await operator.run(['audit', 'affected', '--since', since, ...words])
    expect(refused).toMatchObject({ code: 2, stderr: `error: ${fault}\n` })
  }
})
