import { describe, expect, test } from 'bun:test'
import type { SubmissionDraft } from '../../src/domain/decisions/submission'
import { act, endOf, fill, minutes, nine, now, type Place, stored, update, versionOf } from './furniture'

const day = minutes(24 * 60)
const retry = { key: 'one', body: 'sent' }

/** Contract: submissions with an idempotency key. */
export function retriesContract(open: () => Promise<Place>): void {
  async function furnished() {
    const place = await open()
    const furniture = await fill(place)
    const { book, intake } = furniture
    const counted = async () => (await place.store.listRequests({})).length
    return {
      ...furniture,
      counted,
      store: place.store,
      feed: place.feed,
      book: (member: string, different: Partial<SubmissionDraft> = {}) =>
        book(member, nine, { retry, ...different }),
      intake: (member: string, different: Partial<SubmissionDraft> = {}) =>
        intake(member, { retry, ...different }),
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    }
  }

  describe('a submission with an idempotency key', () => {
    test('a repeated submission gets the first answer and changes nothing', async () => {
      await using place = await furnished()
      const { store, book, intake, second, counted } = place
      const profile = { ...update, phoneNumber: '+1 416 555 0100', preferredModality: 'Video' }
      const { member, ...request } = await stored(book('robin', { member: profile }))
      const { email, firstName, phoneNumber, preferredModality } = member.profile
      const shownMember = { id: member.id, profile: { email, firstName, phoneNumber, preferredModality } }
      const replay = { ...request, member: shownMember, isReplay: true }
      const again = () => book('robin', { member: profile, submittedAt: now + 1 })
      expect(await again()).toEqual(replay as never)
      await store.accept(request.id, act)
      expect(await again()).toEqual(replay as never)
      await store.decline(request.id, act)
      await stored(
        intake('robin', { member: { ...update, email: 'new@example.com', firstName: 'R' }, retry: null }),
      )
      await store.setMemberActive(member.id, false, act)
      await store.setProviderActive(second, false, act)
      const before = [await store.findMemberById(member.id), await store.auditHead(), await counted()]
      expect(await again()).toEqual(replay as never)
      expect([await store.findMemberById(member.id), await store.auditHead(), await counted()]).toEqual(
        before,
      )
    })

    test('another key or another partner makes a separate submission', async () => {
      await using place = await furnished()
      const { intake, counted, store } = place
      const other = await store.addPartner('Willow', null, act)
      const member = { ...update, email: 'theirs@example.com' }
      await stored(intake('robin'))
      await stored(intake('robin', { retry: { ...retry, key: 'One' } }))
      await stored(intake('robin', { partnerId: other.id, member }))
      expect(await intake('robin', { partnerId: other.id, member })).toMatchObject({ isReplay: true })
      expect(await counted()).toBe(3)
    })

    test('a refused submission is decided again when repeated', async () => {
      await using place = await furnished()
      const { book, store } = place
      const theirs = await stored(book('kim', { retry: null }))
      for (let round = 0; round < 2; round++) expect(await endOf(book('robin'))).toBe('slot_unavailable')
      await store.decline(theirs.id, act)
      const { id } = await stored(book('robin'))
      expect(await book('robin')).toMatchObject({ id, isReplay: true })
    })

    test('50 identical submissions at once are stored once and replayed 49 times', async () => {
      await using place = await furnished()
      const { book, intake, counted } = place
      const version = await versionOf(place)
      const again = { retry: { key: 'two', body: 'sent' }, version }
      const answers = await Promise.all([
        ...Array.from({ length: 50 }, () => book('robin', { version })),
        ...Array.from({ length: 50 }, () => intake('kim', again)),
      ])
      expect(new Set(answers.map((answer) => answer !== 'stale' && answer.id)).size).toBe(2)
      expect(answers.filter((answer) => answer !== 'stale' && 'isReplay' in answer)).toHaveLength(98)
      expect(await counted()).toBe(2)
    })

    test('every connection recognizes a repeated submission', async () => {
      await using place = await open()
      const drafts: SubmissionDraft[] = []
      const noting = (draft: SubmissionDraft) => {
        drafts.push(draft)
        return place.store.submit(draft)
      }
      const { intake } = await fill({ ...place, store: { ...place.store, submit: noting } })
      const { id } = await stored(intake('robin', { retry }))
      const again = await place.openAgain()
      expect(await again.store.submit(drafts[0] as SubmissionDraft)).toMatchObject({ id, isReplay: true })
    })
  })

  describe('retry receipts', () => {
    test('expired receipts are removed in batches, and other receipts are kept', async () => {
      await using place = await furnished()
      const { intake, store } = place
      for (let at = 0; at < 5; at++) {
        await stored(intake('robin', { retry: { key: `${at}`, body: '' }, submittedAt: now + at }))
      }
      const head = await store.auditHead()
      expect(await store.forgetReplays(now + day - 1, 9)).toBe(0)
      expect(await store.forgetReplays(now + day + 3, 3)).toBe(3)
      expect(await store.forgetReplays(now + day + 3, 3)).toBe(1)
      expect(await store.forgetReplays(now + day + 3, 3)).toBe(0)
      expect(await intake('robin', { retry: { key: '4', body: '' }, submittedAt: now })).toMatchObject({
        isReplay: true,
      })
      expect(await store.auditHead()).toEqual(head)
    })

    test('erasing a member removes the receipts of the member', async () => {
      await using place = await furnished()
      const { intake, store, counted } = place
      const { member } = await stored(intake('robin'))
      await stored(intake('kim', { retry: { key: 'theirs', body: '' } }))
      await store.eraseMember(member.id, act)
      expect(await store.forgetReplays(now + 2 * day, 9)).toBe(1)
      const later = await stored(intake('robin'))
      expect(later.member.id).not.toBe(member.id)
      expect(await counted()).toBe(3)
    })
  })
}
