import { describe, expect, test } from 'bun:test'
import type { ChangePage } from '../../src/domain/ports/store'
import { act, answers, endOf, fill, fillWithIntake, minutes, nine, type Place, stored } from './furniture'

const raised = [{ question: 'Thoughts that you would be better off dead', answer: 'Several days' }]

/** Contract: requests as their partner reads them back, on every engine. @param riskCells all values in unread_risks */
export function followUpContract<P extends Place>(
  open: () => Promise<P>,
  riskCells: (place: P) => Promise<unknown[]>,
): void {
  test('a partner finds its own request, and no unknown one, another partner’s or an erased member’s', async () => {
    await using place = await open()
    const { store } = place
    const { partner, book } = await fill(place)
    const other = await store.addPartner('Willow', null, act)
    const own = await stored(book('robin', nine, { localOffsetMinutes: -300 }))
    const found = { isIntake: false, cancelledAt: null, submittedAt: act.at, localOffsetMinutes: -300 }
    expect(await store.findOwn(partner.id, own.id)).toEqual({ ...own, ...found })
    expect(await store.findOwn(other.id, own.id)).toBeNull()
    expect(await store.findOwn(partner.id, own.id + 1)).toBeNull()
    await store.eraseMember(own.member.id, act)
    expect(await store.findOwn(partner.id, own.id)).toBeNull()
  })

  describe('the list of changes', () => {
    const idsIn = (page: ChangePage | null) => page?.results.map(({ id }) => id)

    test('has each request of the partner once, at its last change', async () => {
      await using place = await open()
      const { store } = place
      const { partner, first, second, id: assigned, assign, move, intake, book } = await fillWithIntake(place)
      const other = await store.addPartner('Willow', null, act)
      await stored(intake('kim', { partnerId: other.id }))
      const ids: number[] = [assigned]
      for (const [name, hour] of [
        ['a', 1],
        ['b', 2],
        ['c', 3],
        ['d', 4],
      ] as const)
        ids.push((await stored(book(name, nine + minutes(60 * hour)))).id)
      const [, accepted = 0, declined = 0, moved = 0, cancelled = 0] = ids
      const all = await store.changesAfter(partner.id, null)
      expect(idsIn(all)).toEqual(ids)
      let cursor = all?.next ?? null
      const last: Record<string, object> = {}
      const changing: [number, () => Promise<unknown>, object][] = [
        [assigned, () => assign(second, null), { state: 'pending', providerId: second, startsAt: null }],
        [accepted, () => store.accept(accepted, act), { state: 'accepted', acceptedAt: act.at }],
        [declined, () => store.decline(declined, act), { state: 'declined', declinedAt: act.at }],
        [moved, () => move(moved, first, nine), { state: 'pending', startsAt: nine }],
        [cancelled, () => store.cancel(cancelled, act), { state: 'cancelled', cancelledAt: act.at }],
      ]
      for (const [id, change, shown] of changing) {
        await change()
        const page = await store.changesAfter(partner.id, cursor)
        expect(page?.results).toMatchObject([{ id, isErased: false, ...shown }])
        expect(page?.results[0]).not.toHaveProperty('memberId')
        last[id] = page?.results[0] as object
        cursor = page?.next ?? null
      }
      // Neither a local time that staff know, nor a note, nor reading, nor a refused change.
      await store.acknowledge(moved, 120, act)
      await store.addNote(moved, 'Called back', act)
      await store.readScreening(moved, act)
      expect(await endOf(store.accept(declined, act))).toBe('move_unknown')
      expect(await store.changesAfter(partner.id, cursor)).toEqual({ results: [], next: cursor as string })
      const whole = await store.changesAfter(partner.id, null)
      expect(whole?.results as unknown).toEqual(changing.map(([id]) => last[id]))
      expect(whole?.next).toBe(cursor as string)
      expect(idsIn(await store.changesAfter(other.id, null))).toHaveLength(1)
    })

    test('shows the requests of an erased member again', async () => {
      await using place = await open()
      const { partner, book, intake } = await fill(place)
      const robin = await stored(book('robin', nine))
      const [kim, again] = [await stored(intake('kim')), await stored(intake('robin'))]
      const before = await place.store.changesAfter(partner.id, null)
      await place.store.eraseMember(robin.member.id, act)
      const page = await place.store.changesAfter(partner.id, before?.next ?? null)
      const erased = page?.results.map(({ id, isErased }) => [id, isErased])
      expect(erased?.toSorted()).toEqual([
        [robin.id, true],
        [again.id, true],
      ])
      const whole = await place.store.changesAfter(partner.id, null)
      expect(whole?.results.map(({ id, isErased }) => [id, isErased])).toEqual([
        [kim.id, false],
        ...(erased ?? []),
      ])
    })

    test('is read in pages from any cursor, and a cursor of another list or position is refused', async () => {
      await using place = await open()
      const { store } = place
      const { partner, intake } = await fill(place)
      const other = await store.addPartner('Willow', null, act)
      for (const partnerId of [partner.id, other.id])
        for (const name of ['a', 'b', 'c', 'd', 'e'])
          await stored(intake(`${name}-${partnerId}`, { partnerId }))
      const pages: (readonly number[] | undefined)[] = []
      let [cursor, start]: (string | null)[] = [null, null]
      for (let count = 0; count < 4; count++) {
        const page = await store.changesAfter(partner.id, cursor ?? null, 2)
        pages.push(idsIn(page))
        cursor = page?.next ?? null
        start ??= cursor
      }
      const [one = 0] = pages[0] ?? []
      expect(pages).toEqual([[one, one + 1], [one + 2, one + 3], [one + 4], []])
      const [position = '', hash = ''] = start?.split('-') ?? []
      expect(await store.changesAfter(partner.id, `${position}-${hash}`, 1)).toMatchObject({
        results: [{ id: one + 2 }],
      })
      const nextHash = (await store.changesAfter(partner.id, start ?? '', 1))?.next.split('-')[1]
      const theirs = (await store.changesAfter(other.id, null, 2))?.next ?? ''
      const wrong = ['', '-', 'x', position, `${position}-`, `-${hash}`, `${Number(position) + 1}-${hash}`]
      wrong.push(`0${position}-${hash}`, `${position}-${nextHash}`, `${start}0`, ` ${start}`, theirs)
      wrong.push(
        `${position}-${hash.toUpperCase()}`,
        `999-${hash}`,
        `${'9'.repeat(40)}-${hash}`,
        `NaN-${hash}`,
      )
      for (const cursor of wrong) expect(await store.changesAfter(partner.id, cursor), cursor).toBeNull()
    })
  })

  describe('the unread risk of a cancelled request', () => {
    test('is kept until the answers are read or the member is erased, and is not readable in the database', async () => {
      await using place = await open()
      const { store } = place
      const { partner, intake } = await fill(place)
      const submit = async (name: string, screeningAnswers = raised) =>
        (await stored(intake(name, { screeningAnswers }))).id
      const [calm, none] = [await submit('calm', answers), await submit('none', [])]
      const [seen, risky, gone] = [await submit('seen'), await submit('risky'), await submit('gone')]
      await store.readScreening(seen, act)
      for (const id of [calm, none, seen, risky, gone]) await store.cancel(id, act)
      expect((await store.unreadRisks()).toSorted()).toEqual([risky, gone])
      // The other cell is the partner's id.
      const cells = (await riskCells(place)).flatMap((cell) =>
        Number(cell) === partner.id ? [] : Buffer.from(cell as string).toString(),
      )
      expect([cells.length, cells.filter((cell) => cell.length < 16)]).toEqual([4, []])
      const member = (await store.findRequest(gone))?.member?.id ?? 0
      await store.eraseMember(member, act)
      expect((await store.unreadRisks()).toSorted()).toEqual([risky])
      await store.readScreening(risky, act)
      await store.readScreening(risky, act)
      expect(await store.unreadRisks()).toEqual([])
    })
  })
}
