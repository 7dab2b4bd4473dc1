import { expect, test } from 'bun:test'
import { describeOnPostgres } from '../../support/postgres-databases'
import { openPostgresPlace } from './place'
import { statementsSent } from './sent-statements'
import { callAllPorts } from './use-all'

/** Values that must not appear in SQL statements. */
const given =
  /[Rr]obin|Sample|example\.com|keyed|Sent twice|Harbour|olive|Marlow|Fernhill|Toronto|Sleep|Several|Called back|AUTH-|localhost/

describeOnPostgres('postgres: the texts of statements', () => {
  test('contain no value from a partner or staff', async () => {
    await using place = await openPostgresPlace()
    const sent = await statementsSent(() => callAllPorts(place))
    expect(sent.texts.length).toBeGreaterThan(175)
    expect(sent.texts.filter((text) => given.test(text))).toEqual([])
  }, 300_000)
})
