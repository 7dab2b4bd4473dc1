import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { booking, provider, region } from '../support/builders'
import { Operator } from '../support/operator'
import { writeTzif } from '../zones/write-tzif'

const operator = new Operator()
afterAll(() => operator[Symbol.dispose]())

test('doctor names the bookings whose local time moves under other zone data, and is unhealthy for it', async () => {
  await operator.do('init')
  await operator.do('organization', 'add', 'North Care')
  await operator.do('partner', 'add', 'Lantern', '--organization', 'North Care')
  const token = (await operator.do('token', 'issue', 'Lantern')).trim()
  const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
  const workingHours = [{ weekdays: [...everyDay], start: '09:00', end: '17:00' }]
  const directory = { regions: [region()], providers: [provider('on-1', { workingHours })] }
  writeFileSync(operator.folder.file('directory.json'), JSON.stringify(directory))
  await operator.do('directory', 'load', operator.folder.file('directory.json'))
  await using service = await operator.serve()
  const found = await service.get('/partners/v1/providers/?region_id=1', token)
  const { providerId, availability } = found.body.results[0]
  const slot = { providerId, utcStartTime: availability.at(-1).utcStartTime }
  expect((await service.post(booking('m-1', slot), token)).status).toBe(201)

  const findings = (...flags: string[]) => operator.run(['doctor', '--json', ...flags])
  const same = await findings()
  expect(same.code).toBe(0)
  expect(JSON.parse(same.stdout)).toContainEqual({
    check: 'booked times',
    state: 'ok',
    detail: 'as they were booked',
  })

  const zones = operator.folder.file('zones')
  mkdirSync(`${zones}/America`, { recursive: true })
  writeFileSync(`${zones}/America/Toronto`, writeTzif({ types: [-3 * 3600], footer: '<-03>3' }))
  const moved = await findings('--zones', zones)
  expect(moved.code).toBe(8)
  expect(JSON.parse(moved.stdout)).toContainEqual({
    check: 'booked times',
    state: 'bad',
    detail: "the provider's clock will show another time than was booked: request 1",
  })
})
