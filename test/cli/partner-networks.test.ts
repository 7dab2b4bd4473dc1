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
