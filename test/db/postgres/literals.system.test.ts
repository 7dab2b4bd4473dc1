import { expect, test } from 'bun:test'
import { describeOnPostgres } from '../../support/postgres-databases'
import { openPostgresPlace } from './place'
import { statementsSent } from './sent-statements'
import { useAll } from './use-all'

/** What is given, or comes of it, while everything is used: of people, partners, providers, staff. */
const given =
  /[Rr]obin|Sample|example\.com|keyed|Sent twice|Harbour|olive|Marlow|Fernhill|Toronto|Sleep|Several|Called back|AUTH-|localhost/

describeOnPostgres('texts of statements, which a server may log', () => {
  test('hold no value that a partner or staff gave', async () => {
    await using place = await openPostgresPlace()
    const sent = await statementsSent(() => useAll(place))
    expect(sent.texts.length).toBeGreaterThan(175)
    expect(sent.texts.filter((text) => given.test(text))).toEqual([])
  }, 300_000)
})
