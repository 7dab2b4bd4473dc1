import { expect, test } from 'bun:test'
import { unlimited } from '../../../src/domain/limits'
import { describeOnPostgresInFull } from '../../support/postgres-databases'
import { act, endOf, furnish, stored, update, versionOf } from '../furniture'
import { openPostgresEngine, openPostgresPlace } from './place'

const others = Array.from({ length: 30 }, (_, index) => `other-${index}`)

describeOnPostgresInFull(
  'submissions of one moment, some of which a partner chose to stand in the way',
  () => {
    test('two that cannot be stored together go one after the other, and stop nobody else', async () => {
      await using place = await openPostgresPlace()
      const engine = await openPostgresEngine(place.url)
      const { intake } = await furnish(engine)
      await stored(intake('robin'))
      const version = await versionOf(engine)
      const before = { ...engine.measure(), groups: groupsOf(engine) }
      // The address that the one gives back is another's at the same moment.
      const ends: string[] = await Promise.all([
        endOf(intake('robin', { version, member: { ...update, email: 'robin-new@example.com' } })),
        ...others.map((name) => endOf(intake(name, { version }))),
        endOf(intake('sam', { version, member: { ...update, email: 'robin@example.com' } })),
      ])
      expect(ends).toEqual(ends.map(() => 'stored'))
      expect(groupsOf(engine) - before.groups).toBe(2)
      expect(engine.measure().failedGroups - before.failedGroups).toBe(0)
      await engine.close()
    })

    test('those that leave lines in the audit log keep nobody waiting who leaves none', async () => {
      await using place = await openPostgresPlace()
      const { intake, organization } = await furnish(place)
      const other = await place.store.addPartner('Lanternlight', organization.id, act)
      await stored(intake('robin'))
      const version = await versionOf(place)
      let answered = 0
      const limits = { ...unlimited, emailConflicts: 1_000 }
      const asked = others.map((name) =>
        endOf(intake(name, { version, limits, member: { ...update, email: 'robin@example.com' } })).then(
          (end) => {
            answered++
            return end
          },
        ),
      )
      await Promise.race(asked)
      await stored(intake('sam', { version, partnerId: other.id }))
      expect(answered).toBeLessThan(others.length)
      expect(await Promise.all(asked)).toEqual(others.map(() => 'email_taken'))
    })
  },
)

/** How many transactions were committed. */
function groupsOf({ measure }: Awaited<ReturnType<typeof openPostgresEngine>>): number {
  return measure().groupSizes.counts.reduce((sum, count) => sum + count)
}
