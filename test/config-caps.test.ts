import { describe, expect, test } from 'bun:test'
import { readServerConfig } from '../src/config'
import { Refusal } from '../src/domain/errors'

const needed = { database: 'a.sqlite', baseUrl: 'https://x.example' }

const capsOf = (flags: object, environment: Record<string, string> = {}) => {
  const { openRequests, emailConflicts } = readServerConfig({ ...needed, ...flags }, environment).limits
  return { openRequests, emailConflicts }
}

describe('serve holds its callers to', () => {
  test('10 open requests of a member and 20 addresses of others in an hour, unless told otherwise', () => {
    expect(capsOf({})).toEqual({ openRequests: 10, emailConflicts: 20 })
  })

  test('what a flag says, then what the environment says, and to nothing where that is off', () => {
    const environment = { ANTEROOM_OPEN_REQUESTS: '3', ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: 'off' }
    expect(capsOf({}, environment)).toEqual({ openRequests: 3, emailConflicts: null })
    expect(capsOf({ openRequests: 'off', emailConflictsPerHour: '7' }, environment)).toEqual({
      openRequests: null,
      emailConflicts: 7,
    })
  })

  test.each(['0', '-1', '1.5', '1e3', '', 'none', 'OFF', '1000000000'])('and not to %p', (value) => {
    const why = 'must be a whole number from 1 on, or off'
    expect(() => capsOf({ openRequests: value }, { ANTEROOM_EMAIL_CONFLICTS_PER_HOUR: value })).toThrow(
      new Refusal('settings_invalid', `--open-requests: ${why}\nANTEROOM_EMAIL_CONFLICTS_PER_HOUR: ${why}`),
    )
  })
})
