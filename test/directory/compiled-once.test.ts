import { expect, test } from 'bun:test'
import { CompiledOnce } from '../../src/directory/compile'
import type { Provider } from '../../src/domain/provider'
import type { TimeZone } from '../../src/scheduling/time-zone'
import { provider } from '../domain/values'

const utc: TimeZone = { name: 'UTC', transitions: [], offsets: [0] }
const away = [{ from: '2027-01-04', until: '2027-01-05' }]

test('directory: providers share a compiled schedule only if their lists are the same objects', () => {
  const compiled = new CompiledOnce()
  const first = compiled.scheduleOf(provider, utc)
  expect(compiled.scheduleOf({ ...provider, id: 6, bio: 'Another' }, utc)).toBe(first)
  const different: Partial<Provider>[] = [
    { workingHours: [...provider.workingHours] },
    { overrides: [{ date: '2027-01-04', windows: [] }] },
    { timeOff: away },
    { staffTimeOff: away },
  ]
  for (const lists of different) {
    compiled.scheduleOf(provider, utc)
    expect(compiled.scheduleOf({ ...provider, ...lists }, utc)).not.toBe(first)
  }
})
