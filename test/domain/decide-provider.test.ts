import { describe, expect, test } from 'bun:test'
import {
  decideProviderState,
  decideTimeOff,
  decideTimeOffRemoval,
} from '../../src/domain/decisions/providers'
import { Refusal } from '../../src/domain/errors'
import { done, provider } from './values'

const answer = expect.any(Function)
const absence = { from: '2027-01-04T09:00', until: '2027-01-04T12:00' }
const [known] = provider.timeOff as [(typeof provider.timeOff)[number]]

describe('domain: a provider', () => {
  test.each([
    [false, 'provider.deactivate', { suspended: true }],
    // A reactivation by staff also undoes a deactivation by the directory files.
    [true, 'provider.reactivate', { active: true, suspended: false }],
  ] as const)('can be set to active = %p even if only its id can be read', (active, action, to) => {
    expect(done(decideProviderState({ id: 5 }, active))).toEqual({
      writes: [{ set: 'provider', id: 5, to }],
      taken: [],
      audit: { action, noun: 'provider', id: 5 },
      answer,
    })
  })

  test('can get a second absence', () => {
    expect(done(decideTimeOff(provider, absence))).toEqual({
      writes: [{ set: 'provider', id: 5, to: { staffTimeOff: [absence] } }],
      taken: [],
      audit: { action: 'provider.time-off-add', noun: 'provider', id: 5 },
      answer,
    })
  })

  test('gets the same absence only once, and a second attempt writes nothing', () => {
    for (const away of [{ timeOff: [known, absence] }, { staffTimeOff: [absence] }]) {
      const decided = done(decideTimeOff({ ...provider, ...away }, absence))
      expect(decided).toEqual({ writes: [], taken: [], audit: null, answer })
      expect(decided.answer([])).toBe(false)
    }
    expect(done(decideTimeOff(provider, absence)).answer([])).toBe(true)
  })

  test('loses only the absences with exactly the given boundaries', () => {
    const longer = { ...absence, until: '2027-01-04T13:00' }
    const away = { ...provider, timeOff: [known, absence], staffTimeOff: [longer, absence] }
    const to = { timeOff: [known], staffTimeOff: [longer] }
    expect(done(decideTimeOffRemoval(away, absence))).toEqual({
      writes: [{ set: 'provider', id: 5, to }],
      taken: [],
      audit: { action: 'provider.time-off-remove', noun: 'provider', id: 5 },
      answer,
    })
  })

  test('keeps its absences if the absence to remove is unknown', () => {
    const gone = new Refusal('record_unknown', 'there is no such time off')
    expect(decideTimeOffRemoval(provider, absence)).toEqual(gone)
    expect(decideTimeOffRemoval(provider, { ...known, from: '2026-12-28' })).toEqual(gone)
    expect(decideTimeOffRemoval(provider, { ...known, until: '2026-12-30' })).toEqual(gone)
  })

  test('that is unknown is refused with record_unknown', () => {
    const nobody = new Refusal('record_unknown', 'there is no such provider')
    const decided = [
      decideProviderState(null, false),
      decideTimeOff(null, absence),
      decideTimeOffRemoval(null, absence),
    ]
    expect(decided).toEqual([nobody, nobody, nobody])
  })
})
