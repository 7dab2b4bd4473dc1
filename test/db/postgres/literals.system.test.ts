import { expect, test } from 'bun:test'
import { ourMigrations } from '../../../db/postgres/migration'
import { describeOnPostgres } from '../../support/postgres-databases'
import { openPostgresPlace } from './place'
import { statementsSent } from './sent-statements'
import { useAll } from './use-all'

/** What is given, or comes of it, while everything is used: of people, partners, providers, staff. */
const given =
  /[Rr]obin|Sample|example\.com|keyed|Sent twice|Harbour|olive|Marlow|Fernhill|Toronto|Sleep|Several|Called back|AUTH-|localhost/

describeOnPostgres('texts of statements, which a server may log', () => {
  test('hold nothing that was given, by whomever', async () => {
    await using place = await openPostgresPlace()
    const sent = await statementsSent(() => useAll(place))
    // Doctor makes the tables anew beside those that there are, to compare them.
    const texts = sent.texts.filter((text) => !ourMigrations.some(({ sql }) => sql === text))
    expect(texts.length).toBeGreaterThan(200)
    expect(texts.filter((text) => given.test(text))).toEqual([])
  }, 300_000)
})
