import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { daily } from '../contract/contract'
import { booking, provider, region } from '../support/builders'
import { tellFigure, times } from '../support/long'
import { Operator } from '../support/operator'
import { theProgram } from '../support/process'
import type { Answer } from '../support/service'

// The commands of commands.test.ts as the executable has them, beside a server that is the executable too.
setDefaultTimeout(3_600_000)

/** A command, what undoes it, and what bookings are refused with in between. */
type Round = readonly [command: readonly string[], undo: readonly string[] | null, code: string]

const away = ['p1', '2020-01-01', '2099-01-01']
const roundsOf = (member: string): readonly Round[] => [
  [['provider', 'deactivate', 'p1', '--yes'], ['provider', 'reactivate', 'p1'], 'provider_unknown'],
  [['provider', 'time-off', 'add', ...away], ['provider', 'time-off', 'remove', ...away], 'slot_unavailable'],
  [
    ['directory', 'load', 'idle.json', '--yes'],
    ['directory', 'load', 'busy.json', '--yes'],
    'slot_unavailable',
  ],
  [['partner', 'deactivate', 'Lantern', '--yes'], ['partner', 'reactivate', 'Lantern'], 'partner_inactive'],
  [
    ['organization', 'deactivate', 'North Care', '--yes'],
    ['organization', 'reactivate', 'North Care'],
    'organization_deactivated',
  ],
  [['member', 'deactivate', member, '--yes'], ['member', 'reactivate', member], 'member_deactivated'],
  [['token', 'rotate', 'Lantern', '--yes'], null, 'token_invalid'],
  [['token', 'revoke', 'Lantern', '--yes'], ['token', 'issue', 'Lantern'], 'token_invalid'],
]

const directory = (workingHours: readonly ReturnType<typeof daily>[]) => ({
  regions: [region()],
  providers: [provider('p1', { timeZone: 'Etc/UTC', workingHours: [...workingHours] })],
})
const codeOf = ({ status, headers }: Answer) => (status < 300 ? String(status) : headers.get('x-error-code'))

test('bookings beside a command are stored or refused for its reason, those behind it are refused, and it can be undone', async () => {
  using operator = new Operator(theProgram)
  writeFileSync(operator.folder.file('busy.json'), JSON.stringify(directory([daily('00:00', '23:15')])))
  writeFileSync(operator.folder.file('idle.json'), JSON.stringify(directory([])))
  await operator.do('init')
  await operator.do('directory', 'load', 'busy.json')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  let token = (await operator.do('token', 'issue', 'Lantern')).trim()
  // What is asked here is far more than anybody may.
  const rates = ['--reads-per-minute', '--bookings-per-minute', '--open-requests']
  await using service = await operator.serve(...rates.flatMap((rate) => [rate, 'off']))
  const { body } = await service.get('/partners/v1/providers/?region_id=1', token)
  // A try that was given up has used up its ids.
  const { providerId, availability } = body.results[0]
  const slots: { utcStartTime: string }[] = [...availability]
  const book = () => {
    const { utcStartTime } = slots.pop() as { utcStartTime: string }
    return service.post(booking('m', { providerId, utcStartTime }), token)
  }
  const tally = new Map<string | null, number>()
  const rounds = roundsOf(`${(await book()).body.member.id}`)

  for (let turn = 0; turn < times(1, 4); turn++) {
    for (const [command, undo, code] of rounds) {
      const tried = await book()
      expect({ command, code: codeOf(tried) }).toEqual({ command, code: '201' })
      let hasEnded = false
      const running = operator.run(command).finally(() => {
        hasEnded = true
      })
      const beside: Answer[] = []
      while (!hasEnded) {
        beside.push(await book())
        await Bun.sleep(20)
      }
      const ended = await running
      expect({ command, code: ended.code, stderr: ended.stderr }).toMatchObject({ command, code: 0 })
      const codes = beside.map(codeOf)
      expect({ command, others: codes.filter((each) => each !== '201' && each !== code) }).toEqual({
        command,
        others: [],
      })
      // Once the first is refused, none is stored.
      expect({ command, codes }).toEqual({ command, codes: codes.toSorted() })
      expect({ command, behind: codeOf(await book()) }).toEqual({ command, behind: code })
      const said = undo ? await operator.do(...undo) : ended.stdout
      if (command[0] === 'token') token = said.trim()
      for (const each of codes) tally.set(each, (tally.get(each) ?? 0) + 1)
    }
  }
  expect(codeOf(await book())).toBe('201')
  tellFigure(`commands beside bookings: ${[...tally].map(([code, count]) => `${code} ${count}`).join(', ')}`)
})
